/**
 * Removes markup that is not Markdown, but is processed by other tools: formulas, templates, containers, emoji codes,
 * LaTeX commands, double brackets of wikis. Evidence: form, outside code. Text that only resembles such markup (`$5 and
 * $10`, `$HOME/a_b:$PATH`, `10:30:15`) is kept.
 */
import type { UnspokenList } from "../blocks.ts";
import type { UnspokenKind } from "../plan-types.ts";
import { spellOutSuperscripts } from "./superscripts.ts";

/**
 * Takes linear time. For example, the search for the end of a formula stops at the next dollar sign, where another
 * formula could begin.
 */
const MARKUP = new RegExp(
  [
    "(?<code>(?<!`)(?<ticks>`{1,3})(?!`)[^`\\n]{1,1000}\\k<ticks>(?!`))",
    // Keep a single letter or number between dollar signs, because the sentence would lack a word without it.
    "(?<![\\\\$\\w])\\$(?<letter>[A-Za-zα-ωΑ-Ω]|\\d[\\d,.]{0,20}[!%]?)\\$(?![\\w$({])",
    "(?<math>\\$\\$(?=[^$]*[\\\\^_={}+<>\\d*/|]|\\s*[A-Za-zα-ωΑ-Ω]{1,2}\\s*\\$)[^$]{1,4000}\\$\\$|(?<![\\\\$\\w])\\$(?![\\s$])(?:[A-Za-zα-ωΑ-Ω]|(?=[^$\\n]{0,300}[\\\\^_={}+<>])[^$\\n]{2,300})(?<![\\s\\\\])\\$(?![\\w$({]))",
    "(?<template>\\{\\{[<%][^{}]{0,500}[%>]\\}\\}|\\{%[^{}%]{0,500}%\\})",
    "(?<container>^ {0,3}:::+[ \\t]*(?<name>[\\w-]*)(?:\\{[^{}\\n]{0,200}\\})?(?:[ \\t]+(?<title>[^\\n{]{1,200}))?(?:\\{[^{}\\n]{0,200}\\})?[ \\t]*$)",
    "(?<emoji>(?<![\\w:/]):(?:[a-z][a-z0-9_+-]{1,40}|[+-]1):(?![\\w:]))",
    "\\[\\[(?<page>[^\\[\\]|\\n]{1,200})(?:\\|(?<label>[^\\[\\]\\n]{1,200}))?\\]\\](?![(\\[])",
  ].join("|"),
  "gm",
);

const ANY_MARKUP = /[$`]|\{[{%]|:::|:[a-z+-][^\s:]*:|\[\[|\\[a-z]{2}|<su[pb]>/i;

const TEX_COMMAND = /\\([a-zA-Z]{2,20})\*?(?:\[[^[\]\n]{0,200}\])?\{([^{}]{0,1000})\}/g;
/** LaTeX commands whose braces contain no text. */
const WITHOUT_WORDS =
  /^(?:index|label|[a-z]*cite[a-z]*|[a-z]*ref|includegraphics|[vh]space|bibliography|bibliographystyle|input|include|usepackage|documentclass|begin|end|pagestyle|setlength|gls)$/i;
/** Maximum nesting of commands. */
const MAX_DEPTH = 6;

const UNSPOKEN_KINDS = ["math", "template", "emoji"] as const satisfies readonly UnspokenKind[];

function withoutCommands(text: string, unspoken: UnspokenList): string {
  let words = text;
  for (let depth = 0; depth < MAX_DEPTH && words.includes("\\"); depth += 1) {
    const before = words;
    words = words.replace(TEX_COMMAND, (all, name: string, inner: string) => {
      if (!WITHOUT_WORDS.test(name)) return inner;
      unspoken.add("latex", all);
      return "";
    });
    if (words === before) break;
  }
  return words;
}

function replaceCommands(text: string, unspoken: UnspokenList): string {
  if (!ANY_MARKUP.test(text)) return text;
  let spoken = "";
  let from = 0;
  const between = (to: number): string =>
    spellOutSuperscripts(withoutCommands(text.slice(from, to), unspoken), unspoken);
  for (const match of text.matchAll(MARKUP)) {
    const { groups = {} } = match;
    spoken += between(match.index);
    from = match.index + match[0].length;
    if (groups["code"] !== undefined) spoken += match[0];
    else if (groups["letter"] !== undefined) spoken += groups["letter"];
    else if (groups["page"] !== undefined) spoken += groups["label"] ?? groups["page"];
    else if (groups["container"] !== undefined) {
      if (groups["name"] !== "") unspoken.add("template", match[0]);
      // Replace the line of a container by its title, with a blank line above and below. The blank lines separate the
      // title from text that stands directly above or below the container's line.
      spoken += `\n${groups["title"] ?? ""}\n`;
    } else {
      const kind = UNSPOKEN_KINDS.find((name) => groups[name] !== undefined);
      if (kind !== undefined) unspoken.add(kind, match[0]);
    }
  }
  return spoken + between(text.length);
}

const CODE_FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Removes markup that is not spoken, and adds it to `unspoken`.
 *
 * @param source Markdown with `\n` for line ends; fenced code in it is left unchanged
 */
export function dropUnspokenMarkup(source: string, unspoken: UnspokenList): string {
  if (!ANY_MARKUP.test(source)) return source;
  const chunks: string[] = [];
  let openLines: string[] = [];
  let fence = "";
  const close = (isText: boolean): void => {
    const text = openLines.join("\n");
    if (openLines.length > 0) chunks.push(isText ? replaceCommands(text, unspoken) : text);
    openLines = [];
  };
  for (const line of source.split("\n")) {
    const mark = CODE_FENCE.exec(line)?.[1] ?? "";
    if (fence === "" && mark !== "") {
      close(true);
      fence = mark;
      openLines.push(line);
    } else if (fence !== "" && mark.startsWith(fence)) {
      openLines.push(line);
      close(false);
      fence = "";
    } else openLines.push(line);
  }
  close(fence === "");
  return chunks.join("\n");
}

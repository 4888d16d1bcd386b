/**
 * Removes markup that is not Markdown, but is processed by other tools: formulas, templates, containers, emoji codes,
 * LaTeX commands, attributes, citations, comments, and other marks of pandoc, kramdown, MkDocs, Docusaurus, Obsidian and
 * Quarto. Evidence: form, outside code. Text that only resembles such markup (`$5 and $10`, `$HOME/a_b:$PATH`,
 * `10:30:15`, `a == b`, `C++`) is kept.
 */
import type { UnspokenList } from "../blocks.ts";
import { isBlank } from "../characters.ts";
import { HARD_BREAK } from "../normalize.ts";
import { withoutFrames } from "../plain/tables.ts";
import type { UnspokenKind } from "../unspoken-kinds.ts";
import { spellOutSuperscripts } from "./superscripts.ts";

const NAMED_ATTRIBUTE = "[A-Za-z][\\w-]{0,40}=(?:\"[^\"\\n]{0,1000}\"|'[^'\\n]{0,1000}'|[^\\s{}\"']{1,80})";
const SHORT_ATTRIBUTE = "[#.][A-Za-z_][\\w:.-]{0,80}";
/** Attributes of pandoc: `{#id .class width=50%}`, `{ .md-button }`, `{-}`, `{=html}`. */
const ATTRIBUTES = `\\{ ?(?:${SHORT_ATTRIBUTE}|-|=\\w{1,20}|(?<=[\\])\`]\\{ ?)${NAMED_ATTRIBUTE})(?: {1,4}(?:${SHORT_ATTRIBUTE}|${NAMED_ATTRIBUTE})){0,20} ?\\}`;

/**
 * Takes linear time. For example, the search for the end of a formula stops at the next dollar sign, where another
 * formula could begin. Groups with the name of a kind are not spoken.
 */
const MARKUP = new RegExp(
  [
    // The code of R and other languages, whose result Quarto prints; the imports of MDX.
    "(?<code>(?<!`)`(?:r(?= [\\w(])|\\{(?:r|python|julia)\\}) [^`\\n]{1,500}`(?!`)|^(?:(?:(?:im|ex)port [^\\n]{0,200} from|import) [\"'][^\"'\\n]{1,200}[\"'];?|export (?:const|default|function) [^\\n]{1,400}[;{}\\])])[ \\t]*$)",
    "\\{[a-z][\\w:-]{0,40}\\}`(?<role>[^`\\n]{1,300})`",
    // Code between the shortcodes of Hugo and the tags of Jekyll.
    "(?<listing>\\{\\{[<%] ?(?<tag>highlight|code[\\w-]*)\\b[^{}\\n]{0,200}\\}\\}\\n(?:[^{]|\\{(?!\\{[<%] ?(?:highlight|code))){0,4000}?\\{\\{[<%] ?/\\k<tag> ?[>%]\\}\\}|\\{% highlight\\b[^{}%\\n]{0,200}%\\}(?:[^{]|\\{(?!% highlight)){0,4000}?\\{% endhighlight %\\})",
    "(?<verbatim>(?<!`)(?<ticks>`{1,3})(?!`)[^`\\n]{1,1000}\\k<ticks>(?!`))",
    // Keep a single letter or number between dollar signs, because the sentence would lack a word without it.
    "(?<![\\\\$\\w])\\$(?<letter>[A-Za-zα-ωΑ-Ω]|\\d[\\d,.]{0,20}[!%]?)\\$(?![\\w$({])",
    "(?<math>\\$\\$(?=[^$]*[\\\\^_={}+<>\\d*/|]|\\s*[A-Za-zα-ωΑ-Ω]{1,2}\\s*\\$)[^$]{1,4000}\\$\\$|(?<![\\\\$\\w])\\$(?![\\s$])(?:[A-Za-zα-ωΑ-Ω]|(?=[^$\\n]{0,300}[\\\\^_={}+<>])[^$\\n]{2,300})(?<![\\s\\\\])\\$(?![\\w$({]))",
    "(?<template>\\{\\{[^{}]{1,500}\\}\\}|\\{%[^{}%]{0,500}%\\}|^\\*\\[[^\\]\\n]{1,80}\\]:[^\\n]*$)",
    "(?<container>^ {0,3}:::+[ \\t]*(?<name>[\\w-]*)(?:\\[(?<heading>[^\\]\\n]{1,200})\\])?(?:\\{[^{}\\n]{0,200}\\})?(?:[ \\t]+(?<title>[^\\n{]{1,200}))?(?:\\{[^{}\\n]{0,200}\\})?[ \\t]*(?:\\n[ \\t]*:[a-z][\\w-]{0,30}:[^\\n]{0,200}(?=\\n)){0,12}$|^ {0,3}:::+[ \\t]*\\{[\\w:-]{1,40}\\}(?=[ \\t]+\\S))",
    "(?<emoji>(?<![\\w:/]):(?:[a-z][a-z0-9_+-]{1,40}|[+-]1):(?![\\w:]))",
    "(?<image>!\\[\\[[^\\[\\]\\n]{1,300}\\]\\])",
    "\\[\\[(?<page>[^\\[\\]|\\n]{1,200})(?:\\|(?<label>[^\\[\\]\\n]{1,200}))?\\]\\](?![(\\[])",
    "(?<footnote>\\^\\[(?!\\d{1,3}\\])(?:[^[\\]]|\\[[^[\\]]{0,200}\\]){1,2000}\\])",
    // Words before a key may address a person, unless the key has a number or a colon.
    "(?<citation>[ \\t]?\\[(?:-?|[^[\\]@\\n]{1,80}[ (-](?=@[\\w.-]*[\\d:])|(?:see|cf\\.)[^[\\]@\\n]{0,40} )@[A-Za-z_][^[\\]\\n]{0,300}\\](?![(\\[:])|[ \\t]?\\\\@ref\\([\\w:.-]{1,80}\\))",
    `\\[(?<words>[^[\\]\\n]{1,300})\\](?=${ATTRIBUTES})`,
    `(?<attribute>[ \\t]{0,3}(?:${ATTRIBUTES}|\\{:[^{}\\n]{0,200}\\})|(?<=\\S)[ \\t]{1,3}\\^(?=[a-z0-9-]*[a-z])[a-z0-9][a-z0-9-]{2,40}[ \\t]*$|^\\([\\w:.-]{1,80}\\)=[ \\t]*$)`,
    "(?<comment>(?<![\\w%])%%[^%]{1,4000}%%(?![\\w%])|\\{/\\*[^*]{0,2000}(?:\\*(?!/)[^*]{0,500}){0,20}\\*/\\}|\\{# [^{}\\n]{0,500} #\\}|(?<=\\n\\n)% [^\\n]{1,500}(?:\\n% [^\\n]{0,500}){0,20}(?=\\n\\n|$))",
    "(?<![=\\w])==(?<marked>[^\\s=](?:[^=\\n]{0,300}[^\\s=])?)==(?![=\\w])",
    "(?<![\\w^])\\^\\^(?<inserted>[^\\s^](?:[^^\\n]{0,300}[^\\s^])?)\\^\\^(?![\\w^])",
    "(?<![\\w+])\\+\\+(?<keys>[a-z0-9][\\w-]{0,20}(?:\\+[\\w-]{1,20}){0,5})\\+\\+(?![\\w+])",
    "(?<latex>\\\\(?:newpage|pagebreak|clearpage|tableofcontents|maketitle|noindent|bigskip|medskip|smallskip)(?![A-Za-z{]))",
  ].join("|"),
  "gm",
);
/** Groups whose words are spoken without their marks. */
const KEPT_GROUPS = ["letter", "words", "marked", "inserted", "keys"];

/** Marks of pandoc at the beginning of a line: a verse, a definition, a numbered example. */
const LINE_MARKS = /^(?:\| (?=[^|\n]*$)|:[ \t]{1,4}(?=\S)|\(@[\w-]{0,40}\)[ \t]{1,4}(?=\S))/;
/** The raised text of pandoc: `2^10^`. */
const RAISED = /(?<=[\p{L}\p{N}])\^([\p{L}\p{N}+-]{1,12})\^/gu;
/** The line above an indented box or tab of MkDocs: `!!! note "Title"`, `??? tip`, `=== "Linux"`. */
const BOX_LINE =
  /^ {0,12}(?:!!!|\?\?\?\+?|===[!+]?)[ \t]{1,4}(?=[\w"])(?:[\w-]{1,40}[ \t]{0,4}){0,3}(?:"([^"\n]{0,200})")?[ \t]*$/;

const ANY_MARKUP =
  /[$`^]|\{[{%:#. /=-]|\\@ref|^\([\w:.-]+\)=|[\])]\{|:::|:[a-z+-][^\s:]*:|\[\[|\[[^[\]\n]*@|\\[a-z]{2}|<su[pb]>|==|%%|\+\+|^(?:!!!|\?\?\?|import |export |\*\[|\| |: |\(@|#+\w)/im;

const TEX_COMMAND = /\\([a-zA-Z]{2,20})\*?(?:\[[^[\]\n]{0,200}\])?\{([^{}]{0,1000})\}/g;
/** LaTeX commands whose braces contain no text. */
const WITHOUT_WORDS =
  /^(?:index|label|[a-z]*cite[a-z]*|[a-z]*ref|includegraphics|[vh]space|bibliography|bibliographystyle|input|include|usepackage|documentclass|begin|end|pagestyle|setlength|gls)$/i;
/** Maximum nesting of commands. */
const MAX_DEPTH = 6;

const UNSPOKEN_GROUPS: readonly UnspokenKind[] = [
  ...(["code", "math", "template", "emoji", "image", "footnote"] as const),
  ...(["citation", "attribute", "comment", "latex"] as const),
];

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
    spellOutSuperscripts(
      withoutCommands(text.slice(from, to), unspoken).replace(RAISED, "<sup>$1</sup>"),
      unspoken,
    );
  for (const match of text.matchAll(MARKUP)) {
    const { groups = {} } = match;
    spoken += between(match.index);
    from = match.index + match[0].length;
    const kept = KEPT_GROUPS.find((name) => groups[name] !== undefined);
    if (groups["verbatim"] !== undefined) spoken += match[0];
    // The words of a role of MyST may have a target: `words <target>`.
    else if (groups["listing"] !== undefined) unspoken.add("code", match[0]);
    else if (groups["role"] !== undefined) spoken += groups["role"].replace(/\s*<[^<>]*>\s*$/, "");
    else if (kept !== undefined) spoken += groups[kept];
    else if (groups["page"] !== undefined) spoken += groups["label"] ?? groups["page"];
    else if (groups["container"] !== undefined) {
      if (match[0].replaceAll(":", "").trim() !== "") unspoken.add("template", match[0]);
      // Replace the line of a container by its title, with a blank line above and below. The blank lines separate the
      // title from text that stands directly above or below the container's line.
      const [, title] = /title="([^"]*)"/.exec(match[0]) ?? [];
      const argument = groups["title"]?.trim() ?? "";
      spoken += `\n${title ?? groups["heading"] ?? (IS_PATH.test(argument) ? "" : argument)}\n`;
    } else {
      const kind = UNSPOKEN_GROUPS.find((name) => groups[name] !== undefined);
      if (kind !== undefined) unspoken.add(kind, match[0].trim());
    }
  }
  return spoken + between(text.length);
}

/** The argument of a container that names a file. */
const IS_PATH = /^\S+\.\w{2,5}$|^(?:\S*\/){2,}\S*$/;
const BOX_INDENTATION = 4;
/** A heading without a blank behind its signs: `#Where do we start?`. A single word may be a tag. */
const TIGHT_HEADING = /^#{1,6}\p{Lu}[\p{L}\p{M}’'-]{0,40} [^#\n]{1,100}[^\s#.,;:]$/u;
const CODE_FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The first line of a table of pandoc: `+-----+-----+`. */
const GRID_TABLE = /^ {0,3}\+(?:[-=:]{2,}\+)+[ \t]*\n(?= {0,3}\|)/m;

/** Reads the rows of tables. A fence in a cell, which would swallow the text below, is left out. */
const withoutGridTables = (source: string, unspoken: UnspokenList): string =>
  GRID_TABLE.test(source)
    ? source
        .split(/(\n{2,})/)
        .map((block) =>
          GRID_TABLE.test(block) ? withoutFrames(block.replace(/`{3,}/g, ""), unspoken) : block,
        )
        .join("")
    : source;

/**
 * Removes markup that is not spoken, and adds it to `unspoken`.
 *
 * @param written Markdown with `\n` for line ends; fenced code in it is left unchanged
 */
export function dropUnspokenMarkup(written: string, unspoken: UnspokenList): string {
  const source = withoutGridTables(written, unspoken);
  if (!ANY_MARKUP.test(source)) return source;
  const chunks: string[] = [];
  let openLines: string[] = [];
  let fence = "";
  const close = (isText: boolean): void => {
    const text = openLines.join("\n");
    if (openLines.length > 0) chunks.push(isText ? replaceCommands(text, unspoken) : text);
    openLines = [];
  };
  /** Indentation of the text in the open boxes of MkDocs. */
  let indentation = 0;
  const lines = source.split("\n");
  for (const [index, wholeLine] of lines.entries()) {
    const isEmpty = isBlank(wholeLine);
    while (!isEmpty && !wholeLine.startsWith(" ".repeat(indentation))) indentation -= BOX_INDENTATION;
    const line = isEmpty ? "" : wholeLine.slice(indentation);
    const mark = CODE_FENCE.exec(line)?.[1] ?? "";
    if (fence === "" && mark !== "") {
      close(true);
      fence = mark;
      openLines.push(line);
    } else if (fence !== "" && mark.startsWith(fence)) {
      openLines.push(line);
      close(false);
      fence = "";
    } else if (fence !== "") openLines.push(line);
    else {
      const [boxLine, title = ""] = BOX_LINE.exec(line) ?? [];
      let next = index + 1;
      while (boxLine !== undefined && lines[next]?.trim() === "") next += 1;
      const isAboveBox = lines[next]?.startsWith(" ".repeat(indentation + BOX_INDENTATION)) === true;
      if (boxLine !== undefined && isAboveBox) {
        unspoken.add("template", boxLine.trim());
        indentation += BOX_INDENTATION;
        openLines.push("", title, "");
      } else if (TIGHT_HEADING.test(line) && isBlank(lines[index - 1]) && isBlank(lines[index + 1]))
        openLines.push(line.replace(/^#+/, "$& "));
      else openLines.push(line.replace(LINE_MARKS, (found) => (found.startsWith("|") ? HARD_BREAK : "")));
    }
  }
  close(fence === "");
  return chunks.join("\n");
}

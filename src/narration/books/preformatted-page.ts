/** Reads a page that is one preformatted text, such as an RFC or a text file that a browser saved. It is plain text. */
import { Parser } from "htmlparser2";
import { hasWords } from "../text/characters.ts";
import { isTextNotCode } from "../text/markdown/indented-text.ts";

/** Minimum share of the words that are preformatted. A page may have a few links above and below. */
const MIN_SHARE = 0.9;
/** Minimum share of the preformatted text that is no code. */
const MIN_TEXT_SHARE = 0.5;
/** A page with fewer paragraphs may be a poem, whose lines are kept. */
const MIN_PARAGRAPHS = 4;

const countUnits = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);

/** Returns the preformatted text of a page that has hardly any other; `null` for any other page. */
export function findPreformattedText(html: string): string | null {
  if (!/<pre\b/i.test(html)) return null;
  const [preformatted, others]: [string[], string[]] = [[], []];
  let [depth, silentDepth] = [0, 0];
  const count = (name: string, step: 1 | -1): void => {
    if (name === "pre") depth += step;
    if (/^(?:head|style|script|nav|header|footer)$/.test(name)) silentDepth += step;
  };
  const parser = new Parser({
    onopentag: (name) => count(name, 1),
    ontext: (text) => {
      if (silentDepth === 0) (depth > 0 ? preformatted : others).push(text);
    },
    onclosetag: (name) => {
      count(name, -1);
      if (name === "pre" && silentDepth === 0) preformatted.push("\n");
    },
  });
  parser.end(html);
  const text = preformatted.join("");
  const otherUnits = countUnits(others.map((each) => each.trim()));
  if (text.length < MIN_SHARE * (text.length + otherUnits)) return null;
  const paragraphs = text.split(/\n\s*\n/).filter(hasWords);
  const ofText = paragraphs.filter((paragraph) => isTextNotCode(paragraph.trim()));
  const isText = countUnits(ofText) >= MIN_TEXT_SHARE * countUnits(paragraphs);
  return isText && paragraphs.length >= MIN_PARAGRAPHS ? text : null;
}

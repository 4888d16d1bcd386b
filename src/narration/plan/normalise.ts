/** Brings a text into the one form that is split, compared and spoken. */
import { characterAt, characterBefore, joinWithoutSpace } from "./characters.ts";

/** Where the writer ended a line on purpose; a `\n` may be there for the page's width alone. */
export const HARD_BREAK = "\u2028";

/** Invisible marks for editors and page layout (byte order mark, soft hyphen), and control characters that are no white space. */
const UNSPOKEN = /[\ufeff\u00ad\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]/g;

/** Colours and the like of a terminal. */
const TERMINAL_CODES = /\x1b\[[\d;]{0,20}[A-Za-z]/g;

/** Nothing that no voice can speak; white space stays. */
export const dropUnspoken = (text: string): string => text.replace(TERMINAL_CODES, "").replace(UNSPOKEN, "");

/** Lines end with `\n`, NFC, nothing that no voice can speak. */
export function normaliseLines(text: string): string {
  const lines = text.replace(/\r\n?|[\v\f\x85]/g, "\n").replaceAll("\u2029", "\n\n");
  return dropUnspoken(lines).normalize("NFC");
}

/** One line of text: ends trimmed, white space inside collapsed to single spaces. */
export function collapseSpaces(line: string): string {
  return /[^\S ]| {2}|^ | $/.test(line) ? line.replace(/\s+/g, " ").trim() : line;
}

/** Lines that were broken for width made one: with a space, or with nothing between characters that need none. */
function joinSoftLines(text: string): string {
  if (!text.includes("\n")) return collapseSpaces(text);
  let joined = "";
  let before = "";
  for (const raw of text.split("\n")) {
    const line = collapseSpaces(raw);
    if (line === "") continue;
    const isTight = before === "" || joinWithoutSpace(before, characterAt(line, 0));
    joined += isTight ? line : ` ${line}`;
    before = characterBefore(line, line.length);
  }
  return joined;
}

/**
 * The text of one paragraph as it is spoken.
 *
 * @param text with `\n` for soft line breaks and {@link HARD_BREAK} for those that stay, as `\n`
 */
export function flowParagraph(text: string): string {
  if (!text.includes(HARD_BREAK)) return joinSoftLines(text);
  return text
    .split(HARD_BREAK)
    .map(joinSoftLines)
    .filter((line) => line !== "")
    .join("\n");
}

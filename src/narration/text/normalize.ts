/** Normalises text for dividing, comparing and speaking. */
import { getCharacterAt, getCharacterBefore, isJoinedWithoutSpace } from "./characters.ts";

/** An intended line break. A `\n`, in contrast, may be a mere wrap at the width of a page. */
export const HARD_BREAK = "\u2028";

/** Invisible marks (byte order mark, soft hyphen), and control characters other than white space. */
const UNSPOKEN_CHARACTERS = /[\ufeff\u00ad\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]/g;

/** Escape codes of terminals, such as colours. */
const TERMINAL_CODES = /\x1b\[[\d;]{0,20}[A-Za-z]/g;

/** Removes characters that cannot be spoken; keeps white space. */
export const dropUnspoken = (text: string): string =>
  text.replace(TERMINAL_CODES, "").replace(UNSPOKEN_CHARACTERS, "");

/** Normalises line ends to `\n` and the text to NFC, and removes characters that cannot be spoken. */
export function normalizeLines(text: string): string {
  const lines = text.replace(/\r\n?|[\v\f\x85]/g, "\n").replaceAll("\u2029", "\n\n");
  return dropUnspoken(lines).normalize("NFC");
}

/** Puts text on one line: trims its ends, and collapses white space to single spaces. */
export function collapseSpaces(line: string): string {
  return /\s\s|[^\S ]/.test(line) ? line.replace(/\s+/g, " ").trim() : line.trim();
}

/** Joins wrapped lines with spaces. Between Chinese or Japanese characters, no space is added. */
function joinSoftLines(text: string): string {
  if (!text.includes("\n")) return collapseSpaces(text);
  let joined = "";
  let before = "";
  for (const raw of text.split("\n")) {
    const line = collapseSpaces(raw);
    if (line === "") continue;
    const isTight = before === "" || isJoinedWithoutSpace(before, getCharacterAt(line, 0));
    joined += isTight ? line : ` ${line}`;
    before = getCharacterBefore(line, line.length);
  }
  return joined;
}

/**
 * Returns the text of one paragraph as it is spoken.
 *
 * @param text with `\n` for soft line breaks, and {@link HARD_BREAK} for line breaks that become `\n`
 */
export function flowParagraph(text: string): string {
  if (!text.includes(HARD_BREAK)) return joinSoftLines(text);
  return text
    .split(HARD_BREAK)
    .map(joinSoftLines)
    .filter((line) => line !== "")
    .join("\n");
}

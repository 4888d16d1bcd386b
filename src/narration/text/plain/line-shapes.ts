/** Measures lines of plain text: widths, indentation, and the share of lines that match a pattern. */
import { isCjk, OPENERS } from "../characters.ts";

/** Splits a text into trimmed lines. Drops empty lines. */
export const splitLines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Returns the number of code units before the first white space of a line. */
export const measureFirstWordLength = (line: string): number => /^\S*/.exec(line)?.[0].length ?? 0;

const EAST_ASIAN = /[\u3000-\u30ff\u4e00-\u9fff\uff00-\uff60]/g;

/** Returns the width in columns. East Asian characters take two. */
export const measureLineWidth = (line: string): number => line.length + (line.match(EAST_ASIAN)?.length ?? 0);

/**
 * Returns by how many columns the first word of a line would lengthen the line above, including the space before the
 * word. For a line in Chinese or Japanese, returns 4, the width of two characters.
 */
export const measureAppendedWidth = (line: string): number =>
  isCjk(line.charAt(0)) ? 4 : 1 + measureFirstWordLength(line);

/**
 * Counts the line breaks that do not come from wrapping. A break counts if the line above it had room for the next
 * word, or if the line above matches `ends`.
 */
export function countFreeBreaks(lines: readonly string[], ends?: RegExp): number {
  const widths = lines.map(measureLineWidth);
  const widest = widths.reduce((max, width) => Math.max(max, width), 0);
  let free = 0;
  for (let index = 1; index < lines.length; index += 1) {
    const hadRoom = (widths[index - 1] ?? 0) + measureAppendedWidth(lines[index] ?? "") <= widest;
    if (hadRoom || ends?.test(lines[index - 1] ?? "") === true) free += 1;
  }
  return free;
}

/** Returns the share of the lines that match `form`, from 0 to 1. Returns 0 if there are no lines. */
export const computeShareOfLines = (lines: readonly string[], form: RegExp): number =>
  lines.length === 0 ? 0 : lines.filter((line) => form.test(line)).length / lines.length;

/** Matches a line that begins with a capital letter or a number. Opening marks may stand before it. */
export const STARTS_UPPERCASE = new RegExp(`^[_*\\s${OPENERS}]*[\\p{Lu}\\p{N}]`, "u");
export const STARTS_LOWERCASE = /^\p{Ll}/u;

/** Returns the smallest number of spaces before a line; 99 if all lines are empty. */
export const measureIndentation = (paragraph: string): number =>
  paragraph
    .split("\n")
    .reduce((min, line) => (/\S/.test(line) ? Math.min(min, /^ */.exec(line)?.[0].length ?? 0) : min), 99);

/** Minimum number of spaces by which an indented line is indented deeper than the surrounding text. */
export const INDENTED_CODE_UNITS = 2;

/** Maximum length of a poem or a list. Longer blocks without blank lines are prose. */
export const MAX_PARAGRAPH_CODE_UNITS = 100_000;

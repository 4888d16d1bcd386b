/** Measures the width of lines of plain text. */
import { isCjk } from "../characters.ts";

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

/** Maximum length of a poem or a list. Longer blocks without blank lines are prose. */
export const MAX_PARAGRAPH_CODE_UNITS = 100_000;

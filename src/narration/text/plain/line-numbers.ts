/**
 * Removes the numbers at the ends of every fifth or tenth line of verse. Evidence: sequence. At least three numbers rise
 * by 5 or 10, with about as many lines between them. Prices and years do not keep this distance.
 */
import type { UnspokenList } from "../blocks.ts";

const STEPS = [5, 10];
const MIN_NUMBERS = 3;
/** By how many lines the distance may differ from the step, because of titles and wrapped lines. */
const SLACKS = [0, 1, -1, 2, -2];
const MAX_LINE_CODE_UNITS = 120;
/** A number that is not the end of a longer number, a price or a formula, nor the page of contents with leaders. */
const LINE_NUMBER = /(?<![\d$€£¥#/+=%-]|\d[.,:]|\.{3} {0,4})\d{1,4}$/;

const ENDS_IN_NUMBER = /\d[^\S\n\u2028]{0,9}(?:[\n\u2028]|$)/;

const findNumber = (line: string): number => {
  if (line.length > MAX_LINE_CODE_UNITS || !ENDS_IN_NUMBER.test(line.slice(-10))) return Number.NaN;
  const [number = Number.NaN] = /\p{L}/u.test(line) ? (LINE_NUMBER.exec(line.trimEnd()) ?? []) : [];
  return Number(number);
};

/**
 * Removes the numbers of lines.
 *
 * @param lineEnd the character between two lines of a text
 * @returns the same number of texts
 */
export function withoutLineNumbers(
  texts: readonly string[],
  lineEnd: string,
  unspoken: UnspokenList,
): string[] {
  if (!texts.some((text) => ENDS_IN_NUMBER.test(text))) return [...texts];
  const linesByText = texts.map((text) => text.split(lineEnd));
  const lines = linesByText.flat().filter((line) => /\S/.test(line));
  const numbers = lines.map(findNumber);
  const found = new Set<number>();
  for (const [first, number] of numbers.entries()) {
    for (const step of Number.isNaN(number) || found.has(first) ? [] : STEPS) {
      const sequence = [first];
      for (let line: number | undefined = first; line !== undefined; ) {
        const [from, wanted]: [number, number] = [line + step, (numbers[line] ?? 0) + step];
        line = SLACKS.map((slack) => from + slack).find((next) => numbers[next] === wanted);
        if (line !== undefined) sequence.push(line);
      }
      if (sequence.length >= MIN_NUMBERS) for (const line of sequence) found.add(line);
    }
  }
  if (found.size === 0) return [...texts];
  let index = 0;
  return linesByText.map((ofText) =>
    ofText
      .map((line) => {
        if (!/\S/.test(line) || !found.has(index++)) return line;
        unspoken.add("line_number", line.trim());
        return line.trimEnd().replace(/\s{0,200}\d{1,4}$/, "");
      })
      .join(lineEnd),
  );
}

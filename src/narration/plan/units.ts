/** Breaks paragraphs into the units that parts are made of: a paragraph is one unless it does not fit, then its sentences, and so on. */
import { type SpokenSize, spokenSize } from "../../contract/estimate.ts";
import { PROMPT_MAX_CODE_POINTS } from "../../contract/service-limits.ts";
import { sentenceStarts } from "./sentences.ts";
import { clauseStarts, codePointStarts, graphemeStarts, wordStarts } from "./smaller-pieces.ts";

/**
 * How deep a cut before a unit goes: 1 between paragraphs, 2 sentences, 3 sentences inside a quotation, 4 clauses,
 * 5 words, 6 graphemes; 7 behind a paragraph that announces the next.
 */
export type GapClass = 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** A stretch of a paragraph, without the white space at its end. */
export interface Unit extends SpokenSize {
  /** Index of its paragraph. */
  readonly paragraph: number;
  readonly start: number;
  readonly end: number;
  readonly gapBefore: GapClass;
}

/** Paragraphs of one part are sent with a blank line between them. */
export const PARAGRAPH_JOINT = "\n\n";

export const sizeOf = (text: string, start = 0, end = text.length): SpokenSize =>
  spokenSize(text.slice(start, end));

/** How a piece that does not fit is broken, from each class to the next. */
const BREAKERS: ReadonlyArray<readonly [gap: GapClass, starts: (text: string) => number[]]> = [
  [2, sentenceStarts],
  [4, clauseStarts],
  [5, wordStarts],
  [6, graphemeStarts],
  // Only what not even a task can hold is broken inside a grapheme.
  [6, (grapheme) => codePointStarts(grapheme, PROMPT_MAX_CODE_POINTS)],
];

/** Index behind the last character of a range that is no white space. */
function trimmedEnd(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && /\s/.test(text.charAt(last - 1))) last -= 1;
  return last;
}

const QUOTATION = /[「『」』]/g;

/** How many East Asian quotations a sentence opens and does not close. */
function openQuotations(sentence: string): number {
  let depth = 0;
  for (const [mark] of sentence.matchAll(QUOTATION)) depth += mark === "「" || mark === "『" ? 1 : -1;
  return depth;
}

/** Breaks paragraphs into ever smaller pieces until each fits. */
class Breaker {
  readonly units: Unit[] = [];
  readonly #paragraphs: readonly string[];
  readonly #most: SpokenSize;

  constructor(paragraphs: readonly string[], most: SpokenSize) {
    this.#paragraphs = paragraphs;
    this.#most = most;
  }

  /** @param level which of {@link BREAKERS} comes next */
  break(paragraph: number, start: number, end: number, gapBefore: GapClass, level: number): void {
    const text = this.#paragraphs[paragraph] ?? "";
    const { speechMs, codePoints } = sizeOf(text, start, end);
    const breaker = BREAKERS[level];
    if (breaker === undefined || (speechMs <= this.#most.speechMs && codePoints <= this.#most.codePoints)) {
      this.units.push({ paragraph, start, end, gapBefore, speechMs, codePoints });
      return;
    }
    const [gap, startsOf] = breaker;
    const starts = startsOf(text.slice(start, end));
    starts.push(end - start);
    let from = start;
    let depth = 0;
    for (const next of starts) {
      const to = start + next;
      const last = trimmedEnd(text, from, to);
      const inner = gap === 2 && depth > 0 ? 3 : gap;
      if (last > from) this.break(paragraph, from, last, from === start ? gapBefore : inner, level + 1);
      if (gap === 2) depth = Math.max(0, depth + openQuotations(text.slice(from, to)));
      from = to;
    }
  }
}

/** A title is no longer, and a sentence seldom as short. */
const ANNOUNCING_MAX_UNITS = 80;
/** More of them in a row are a list, whose last one alone may announce what follows. */
const ANNOUNCING_MAX_ROW = 3;

/** A numeral, a line in capitals, or a short paragraph without a final mark: it belongs to what follows. Evidence: form. */
const announces = (text: string): boolean =>
  text.length <= ANNOUNCING_MAX_UNITS &&
  !text.includes("\n") &&
  (/[\p{L}\p{N}]$/u.test(text) ||
    /^[IVXLC\d]{1,7}[.)]?$/.test(text) ||
    (!/\p{Ll}|\p{Lo}/u.test(text) && /\p{Lu}{2}/u.test(text)));

/** For each paragraph whether it announces the next. */
function announcing(paragraphs: readonly string[]): boolean[] {
  const flags = paragraphs.map(announces);
  let from = 0;
  for (let index = 0; index <= flags.length; index += 1) {
    if (flags[index] === true) continue;
    if (index - from > ANNOUNCING_MAX_ROW) flags.fill(false, from, index - 1);
    from = index + 1;
  }
  return flags;
}

/**
 * @param paragraphs texts of what may share parts, in their order
 * @param most what a unit may take, at the speed of 1
 */
export function unitsOf(paragraphs: readonly string[], most: SpokenSize): Unit[] {
  const breaker = new Breaker(paragraphs, most);
  const flags = announcing(paragraphs);
  for (const [index, text] of paragraphs.entries()) {
    breaker.break(index, 0, text.length, flags[index - 1] === true ? 7 : 1, 0);
  }
  return breaker.units;
}

/**
 * Divides paragraphs into units, from which parts are made. A paragraph that is short enough is one unit. A longer
 * paragraph is divided into sentences, a sentence that is too long into clauses, and so on.
 */
import { measureSpokenSize, type SpokenSize } from "../../../contract/estimate.ts";
import { MAX_PROMPT_CODE_POINTS } from "../../../contract/service-limits.ts";
import {
  findClauseStarts,
  findCodePointStarts,
  findGraphemeStarts,
  findWordStarts,
} from "./break-positions.ts";
import { findSentenceStarts } from "./sentences.ts";

/** The cost of a cut before a unit, by what the cut separates. The cut of lowest cost is the best. */
export const CUT_COST = {
  paragraph: 1,
  sentence: 2,
  sentenceInQuotation: 3,
  clause: 4,
  word: 5,
  grapheme: 6,
  /** A cut between two paragraphs, if the first introduces the second, as a title does. */
  introduced: 7,
} as const;
export type CutCost = (typeof CUT_COST)[keyof typeof CUT_COST];

/** A range of a paragraph, without trailing white space. */
export interface Unit extends SpokenSize {
  /** Index of the unit's paragraph. */
  readonly paragraph: number;
  readonly start: number;
  readonly end: number;
  readonly cutCost: CutCost;
}

/** Paragraphs of one part are sent with a blank line between them. */
export const PARAGRAPH_JOINT = "\n\n";

/**
 * Estimates the speaking time of a range of a text at speed 1, and counts its code points. `start` and `end` are
 * indexes of code units.
 */
export const measureSpoken = (text: string, start = 0, end = text.length): SpokenSize =>
  measureSpokenSize(text.slice(start, end));

/** Ways to divide a range that is too long, with the cost of their cuts. The cheapest ways are tried first. */
const DIVISIONS: ReadonlyArray<readonly [cost: CutCost, starts: (text: string) => number[]]> = [
  [CUT_COST.sentence, findSentenceStarts],
  [CUT_COST.clause, findClauseStarts],
  [CUT_COST.word, findWordStarts],
  [CUT_COST.grapheme, findGraphemeStarts],
  // Divides a grapheme only if it alone is too long for a task.
  [CUT_COST.grapheme, (grapheme) => findCodePointStarts(grapheme, MAX_PROMPT_CODE_POINTS)],
];

/** Returns the end of a range without its trailing white space. */
function findTrimmedEnd(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && /\s/.test(text.charAt(last - 1))) last -= 1;
  return last;
}

const QUOTATION_MARK = /[「『」』]/g;

/** Counts the East Asian quotations that a sentence opens, minus those that it closes. */
function countOpenedQuotations(sentence: string): number {
  let depth = 0;
  for (const [mark] of sentence.matchAll(QUOTATION_MARK)) depth += mark === "「" || mark === "『" ? 1 : -1;
  return depth;
}

/** Divides paragraphs into smaller and smaller ranges until each range fits into a unit. */
class UnitSplitter {
  readonly units: Unit[] = [];
  readonly #paragraphs: readonly string[];
  readonly #max: SpokenSize;

  constructor(paragraphs: readonly string[], max: SpokenSize) {
    this.#paragraphs = paragraphs;
    this.#max = max;
  }

  /** @param level the next way to divide, as an index of {@link DIVISIONS} */
  split(paragraph: number, start: number, end: number, cutCost: CutCost, level: number): void {
    const text = this.#paragraphs[paragraph] ?? "";
    const { speechMs, codePoints } = measureSpoken(text, start, end);
    const division = DIVISIONS[level];
    if (division === undefined || (speechMs <= this.#max.speechMs && codePoints <= this.#max.codePoints)) {
      this.units.push({ paragraph, start, end, cutCost, speechMs, codePoints });
      return;
    }
    const [innerCost, startsOf] = division;
    const starts = startsOf(text.slice(start, end));
    starts.push(end - start);
    let from = start;
    let depth = 0;
    for (const next of starts) {
      const to = start + next;
      const last = findTrimmedEnd(text, from, to);
      const inner = innerCost === CUT_COST.sentence && depth > 0 ? CUT_COST.sentenceInQuotation : innerCost;
      if (last > from) this.split(paragraph, from, last, from === start ? cutCost : inner, level + 1);
      if (innerCost === CUT_COST.sentence)
        depth = Math.max(0, depth + countOpenedQuotations(text.slice(from, to)));
      from = to;
    }
  }
}

/** Maximum length of a paragraph that introduces the next one. Most sentences are longer. */
const MAX_INTRODUCTION_CODE_UNITS = 80;
/**
 * Maximum number of successive paragraphs that each introduce the next one, as a title does. A longer series is a list,
 * of which only the last item may introduce a paragraph.
 */
const MAX_SUCCESSIVE_INTRODUCTIONS = 3;

/**
 * Whether a paragraph belongs to the next one: a numeral, a line in capitals, or a short paragraph without a final
 * mark. Evidence: form.
 */
const introducesNext = (text: string): boolean =>
  text.length <= MAX_INTRODUCTION_CODE_UNITS &&
  !text.includes("\n") &&
  (/[\p{L}\p{N}]$/u.test(text) ||
    /^[IVXLC\d]{1,7}[.)]?$/.test(text) ||
    (!/\p{Ll}|\p{Lo}/u.test(text) && /\p{Lu}{2}/u.test(text)));

/** Returns for each paragraph whether it introduces the next one. */
function flagIntroductions(paragraphs: readonly string[]): boolean[] {
  const flags = paragraphs.map(introducesNext);
  let from = 0;
  for (let index = 0; index <= flags.length; index += 1) {
    if (flags[index] === true) continue;
    if (index - from > MAX_SUCCESSIVE_INTRODUCTIONS) flags.fill(false, from, index - 1);
    from = index + 1;
  }
  return flags;
}

/**
 * Divides paragraphs into units of limited size.
 *
 * @param paragraphs texts that may share parts, in order
 * @param max maximum size of a unit, measured at speed 1
 */
export function splitUnits(paragraphs: readonly string[], max: SpokenSize): Unit[] {
  const splitter = new UnitSplitter(paragraphs, max);
  const flags = flagIntroductions(paragraphs);
  for (const [index, text] of paragraphs.entries()) {
    splitter.split(
      index,
      0,
      text.length,
      flags[index - 1] === true ? CUT_COST.introduced : CUT_COST.paragraph,
      0,
    );
  }
  return splitter.units;
}

/** Breaks paragraphs into the units that parts are made of: a paragraph is one unless it does not fit, then its sentences, and so on. */
import { speechMs } from "../../contract/estimate.ts";
import { PROMPT_MAX_CODE_POINTS } from "../../contract/limits.ts";
import { sentenceStarts } from "./sentences.ts";
import { clauseStarts, codePointStarts, graphemeStarts, wordStarts } from "./smaller-pieces.ts";

/** How deep a cut before a unit goes: 1 between paragraphs, 2 sentences, 3 clauses, 4 words, 5 graphemes. */
export type GapClass = 1 | 2 | 3 | 4 | 5;

export interface Unit {
  /** Index of its paragraph. */
  readonly paragraph: number;
  /** Range in the paragraph's text, without the white space at its end. */
  readonly start: number;
  readonly end: number;
  readonly gapBefore: GapClass;
  /** Of the text itself. */
  readonly size: Size;
  /** Of what stands between it and the next unit where both are in one part. */
  readonly joint: Size;
}

/** How much of a part a text takes; both whole numbers, so that sums are exact. */
export interface Size {
  readonly speechMs: number;
  readonly codePoints: number;
}

/** Paragraphs of one part are sent with a blank line between them. */
export const PARAGRAPH_JOINT = "\n\n";

const NOTHING: Size = { speechMs: 0, codePoints: 0 };

export function sizeOf(text: string, start = 0, end = text.length): Size {
  let milliseconds = 0;
  let codePoints = 0;
  for (let index = start; index < end; index += 1) {
    let codePoint = text.charCodeAt(index);
    if (codePoint >= 0xd800 && codePoint <= 0xdbff) {
      codePoint = text.codePointAt(index) ?? codePoint;
      index += 1;
    }
    milliseconds += speechMs(codePoint);
    codePoints += 1;
  }
  return { speechMs: milliseconds, codePoints };
}

const JOINT = sizeOf(PARAGRAPH_JOINT);

const fits = (size: Size, mostMs: number): boolean =>
  size.speechMs <= mostMs && size.codePoints <= PROMPT_MAX_CODE_POINTS;

/** How a piece that does not fit is broken, from each class to the next. */
const BREAKERS: ReadonlyArray<readonly [gap: GapClass, starts: (text: string) => number[]]> = [
  [2, sentenceStarts],
  [3, clauseStarts],
  [4, wordStarts],
  [5, graphemeStarts],
];

/** Only what not even a task can hold is broken inside a grapheme. */
function breakGrapheme(text: string): number[] {
  return sizeOf(text).codePoints > PROMPT_MAX_CODE_POINTS
    ? codePointStarts(text, PROMPT_MAX_CODE_POINTS)
    : [];
}

interface Piece {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly gapBefore: GapClass;
}

/** The pieces of a piece, ever smaller, until each fits; `level` is the breaker to begin with. */
function* breakUp(piece: Piece, level: number, mostMs: number): Generator<Piece> {
  const size = sizeOf(piece.text, piece.start, piece.end);
  const breaker = BREAKERS[level];
  if (fits(size, mostMs) || level > BREAKERS.length) {
    yield piece;
    return;
  }
  const own = piece.text.slice(piece.start, piece.end);
  const [gap, starts] =
    breaker === undefined ? [5 as const, breakGrapheme(own)] : [breaker[0], breaker[1](own)];
  const edges = [0, ...starts];
  for (const [index, edge] of edges.entries()) {
    const next = edges[index + 1] ?? own.length;
    const end = edge + own.slice(edge, next).trimEnd().length;
    const smaller: Piece = {
      text: piece.text,
      start: piece.start + edge,
      end: piece.start + end,
      gapBefore: index === 0 ? piece.gapBefore : gap,
    };
    if (end > edge) yield* breakUp(smaller, level + 1, mostMs);
  }
}

/**
 * @param paragraphs texts of what may share parts, in their order
 * @param mostMs what a part may take to speak at the speed of 1
 */
export function unitsOf(paragraphs: readonly string[], mostMs: number): Unit[] {
  const units: Unit[] = [];
  for (const [paragraph, text] of paragraphs.entries()) {
    const whole: Piece = { text, start: 0, end: text.length, gapBefore: 1 };
    const pieces = [...breakUp(whole, 0, mostMs)];
    for (const [index, { start, end, gapBefore }] of pieces.entries()) {
      const next = pieces[index + 1];
      const isLast = next === undefined;
      const joint = isLast
        ? paragraph === paragraphs.length - 1
          ? NOTHING
          : JOINT
        : sizeOf(text, end, next.start);
      units.push({ paragraph, start, end, gapBefore, size: sizeOf(text, start, end), joint });
    }
  }
  return units;
}

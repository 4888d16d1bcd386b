/**
 * Divides units into parts at positions that depend only on the text around them, so that an edit changes only the
 * parts around the edit (docs/reference-narrations.md, Plan of a narration).
 */
import { MINIMUM_CHARGE_SECONDS } from "../../../contract/billing.ts";
import type { SpokenSize } from "../../../contract/estimate.ts";
import { MAX_PROMPT_CODE_POINTS } from "../../../contract/service-limits.ts";
import { createHashOrder } from "./unit-hashes.ts";
import { CUT_COST, measureSpoken, PARAGRAPH_JOINT, splitUnits, type Unit } from "./units.ts";

/**
 * Maximum length of a part. Longer parts would save less than two per cent of the cost, and the service may cut off
 * speech after two minutes.
 */
export const MAX_PART_SECONDS = 90;
/** Maximum length of a unit. A unit as long as a part would leave no room for the heading above it. */
const MAX_UNIT_SECONDS = 70;
/**
 * Minimum lengths on each side of a cut, the preferred one first, because shorter parts would sound fragmented. Without a
 * cut that keeps one of them, any length is accepted.
 */
const MIN_PART_SECONDS = [20, MINIMUM_CHARGE_SECONDS, 0];

/**
 * Number of characters at the beginning of a unit from which its hash is computed. An edit in the rest of the unit does
 * not change the hash.
 */
const HASHED_CHARACTERS = 32;

export interface PartText {
  readonly text: string;
  readonly speechMs: number;
  /** Whether the text ends a paragraph. */
  readonly endsParagraph: boolean;
}

const JOINT_SIZE = measureSpoken(PARAGRAPH_JOINT);
const NO_JOINT: SpokenSize = { speechMs: 0, codePoints: 0 };

interface Sums {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
}

/** Sums the sizes of units and of the joints before them. */
function sumSizes(units: readonly Unit[], joints: readonly SpokenSize[], size: keyof SpokenSize): Sums {
  const [starts, ends] = [new Float64Array(units.length), new Float64Array(units.length)];
  for (const [index, unit] of units.entries()) {
    const start = (ends[index - 1] ?? 0) + (joints[index]?.[size] ?? 0);
    starts[index] = start;
    ends[index] = start + unit[size];
  }
  return { starts, ends };
}

/** The units of a text, in order. */
class UnitSequence {
  readonly units: readonly Unit[];
  /** The cost of a cut before each unit, copied from the units because an array of numbers is faster to search. */
  readonly cutCosts: Uint8Array;
  readonly compareHashes: (one: number, other: number) => number;
  /** Sizes of all text before the start and before the end of each unit. */
  readonly #speechMs: Sums;
  readonly #codePoints: Sums;

  constructor(units: readonly Unit[], paragraphs: readonly string[]) {
    this.units = units;
    this.cutCosts = Uint8Array.from(units, ({ cutCost }) => cutCost);
    this.compareHashes = createHashOrder(units.length, (index) => {
      const { paragraph, start, end } = units[index] ?? { paragraph: 0, start: 0, end: 0 };
      return (paragraphs[paragraph] ?? "").slice(start, Math.min(end, start + HASHED_CHARACTERS));
    });
    const joints = units.map((unit, index) => {
      const previous = units[index - 1];
      if (previous === undefined) return NO_JOINT;
      if (previous.paragraph !== unit.paragraph) return JOINT_SIZE;
      return measureSpoken(paragraphs[unit.paragraph] ?? "", previous.end, unit.start);
    });
    this.#speechMs = sumSizes(units, joints, "speechMs");
    this.#codePoints = sumSizes(units, joints, "codePoints");
  }

  /** Measures the part that the units from one index up to another would make, in milliseconds of speech. */
  measureSpeechMs(from: number, to: number): number {
    return (this.#speechMs.ends[to - 1] ?? 0) - (this.#speechMs.starts[from] ?? 0);
  }

  measureCodePoints(from: number, to: number): number {
    return (this.#codePoints.ends[to - 1] ?? 0) - (this.#codePoints.starts[from] ?? 0);
  }
}

/** Returns the first index from which a condition holds, by binary search; `to` if it never holds. */
function findFirst(from: number, to: number, holds: (index: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Chooses a cut with at least `minMs` of speech on both sides: the one of lowest cost, then of lowest hash, then the most
 * central one.
 */
function chooseCut(sequence: UnitSequence, from: number, to: number, minMs: number): number | null {
  const first = findFirst(from + 1, to, (cut) => sequence.measureSpeechMs(from, cut) >= minMs);
  const end = findFirst(first, to, (cut) => sequence.measureSpeechMs(cut, to) < minMs);
  let lowestCost = Number.POSITIVE_INFINITY;
  for (let cut = first; cut < end && lowestCost > CUT_COST.paragraph; cut += 1) {
    lowestCost = Math.min(lowestCost, sequence.cutCosts[cut] ?? Number.POSITIVE_INFINITY);
  }
  const imbalance = (cut: number): number =>
    Math.abs(sequence.measureSpeechMs(from, cut) - sequence.measureSpeechMs(cut, to));
  let best: number | null = null;
  for (let cut = first; cut < end; cut += 1) {
    if (sequence.cutCosts[cut] !== lowestCost) continue;
    const order = best === null ? -1 : sequence.compareHashes(cut, best);
    if (best === null || order < 0 || (order === 0 && imbalance(cut) < imbalance(best))) best = cut;
  }
  return best;
}

/** Returns the index of the first unit of each part, in order. */
function chooseCuts(sequence: UnitSequence, speed: number): number[] {
  const maxMs = MAX_PART_SECONDS * 1000 * speed;
  const starts: number[] = [];
  // A stack of ranges to divide, leftmost on top. It replaces recursion, which a hostile text could make too deep.
  const openRanges: Array<readonly [from: number, to: number]> = [[0, sequence.units.length]];
  for (let range = openRanges.pop(); range !== undefined; range = openRanges.pop()) {
    const [from, to] = range;
    const fits =
      sequence.measureSpeechMs(from, to) <= maxMs &&
      sequence.measureCodePoints(from, to) <= MAX_PROMPT_CODE_POINTS;
    let cut: number | null = null;
    for (const seconds of fits ? [] : MIN_PART_SECONDS)
      cut ??= chooseCut(sequence, from, to, seconds * 1000 * speed);
    if (cut === null) starts.push(from);
    else openRanges.push([cut, to], [from, cut]);
  }
  return starts;
}

/**
 * Divides paragraphs into parts. Neighbouring paragraphs may share a part.
 *
 * @param paragraphs in order, none empty
 * @param speed the speed at which the parts are spoken
 */
export function splitIntoParts(paragraphs: readonly string[], speed: number): PartText[] {
  const max = {
    speechMs: MAX_UNIT_SECONDS * 1000 * speed,
    codePoints: Math.floor((MAX_PROMPT_CODE_POINTS * MAX_UNIT_SECONDS) / MAX_PART_SECONDS),
  };
  const units = splitUnits(paragraphs, max);
  const sequence = new UnitSequence(units, paragraphs);
  const starts = chooseCuts(sequence, speed);
  return starts.map((from, index) => {
    const to = starts[index + 1] ?? units.length;
    return {
      text: joinRange(paragraphs, units.slice(from, to)),
      speechMs: sequence.measureSpeechMs(from, to),
      endsParagraph: units[to]?.paragraph !== units[to - 1]?.paragraph,
    };
  });
}

function joinRange(paragraphs: readonly string[], units: readonly Unit[]): string {
  const texts: string[] = [];
  for (let index = 0; index < units.length; ) {
    const { paragraph, start } = units[index] ?? { paragraph: 0, start: 0 };
    let end = start;
    for (; units[index]?.paragraph === paragraph; index += 1) end = units[index]?.end ?? end;
    texts.push((paragraphs[paragraph] ?? "").slice(start, end));
  }
  return texts.join(PARAGRAPH_JOINT);
}

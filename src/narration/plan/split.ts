/** Cuts units into parts where their own text says, so that an edit changes the parts around it and no others (docs/design.md, Plan of a narration). */
import { PROMPT_MAX_CODE_POINTS } from "../../contract/limits.ts";
import { Ranks } from "./rank.ts";
import { PARAGRAPH_JOINT, type Unit, unitsOf } from "./units.ts";

/** Longer parts save under two per cent; past two minutes a part might be cut off unnoticed. */
const MOST_SECONDS = 90;
/** Shorter ones are dear, for ten credits are charged at least, and each has an edge that is heard. */
const LEAST_SECONDS = 20;

/** A stretch of text for one part. */
export interface Stretch {
  readonly text: string;
  readonly speechMs: number;
  /** Whether a paragraph ends with it. */
  readonly endsParagraph: boolean;
}

/** Units with sums over any range of them. */
class Row {
  readonly units: readonly Unit[];
  readonly #ms: Float64Array;
  readonly #codePoints: Float64Array;

  constructor(units: readonly Unit[]) {
    this.units = units;
    this.#ms = new Float64Array(units.length + 1);
    this.#codePoints = new Float64Array(units.length + 1);
    for (const [index, { size, joint }] of units.entries()) {
      this.#ms[index + 1] = (this.#ms[index] ?? 0) + size.speechMs + joint.speechMs;
      this.#codePoints[index + 1] = (this.#codePoints[index] ?? 0) + size.codePoints + joint.codePoints;
    }
  }

  speechMs(from: number, to: number): number {
    return (this.#ms[to] ?? 0) - (this.#ms[from] ?? 0) - (this.units[to - 1]?.joint.speechMs ?? 0);
  }

  codePoints(from: number, to: number): number {
    const sum = (this.#codePoints[to] ?? 0) - (this.#codePoints[from] ?? 0);
    return sum - (this.units[to - 1]?.joint.codePoints ?? 0);
  }
}

/** The largest gap inside a range with `leastMs` on both sides; of gaps alike the first in rank, then the most central. */
function chooseCut(row: Row, ranks: Ranks, from: number, to: number, leastMs: number): number | null {
  const isOpen = (cut: number): boolean =>
    row.speechMs(from, cut) >= leastMs && row.speechMs(cut, to) >= leastMs;
  let gap = 6;
  for (let cut = from + 1; cut < to && gap > 1; cut += 1) {
    const { gapBefore = 6 } = row.units[cut] ?? {};
    if (gapBefore < gap && isOpen(cut)) gap = gapBefore;
  }
  if (gap === 6) return null;
  const lean = (cut: number): number => Math.abs(row.speechMs(from, cut) - row.speechMs(cut, to));
  let best: number | null = null;
  for (let cut = from + 1; cut < to; cut += 1) {
    if (row.units[cut]?.gapBefore !== gap || !isOpen(cut)) continue;
    const order = best === null ? -1 : ranks.compare(cut, best);
    if (best === null || order < 0 || (order === 0 && lean(cut) < lean(best))) best = cut;
  }
  return best;
}

/** Where the parts begin, the first included, in their order. */
function cutsOf(row: Row, ranks: Ranks, mostMs: number, leastMs: number): number[] {
  const starts: number[] = [];
  // Ranges still to be looked at, the leftmost on top: no recursion, for a hostile text could make it deep.
  const open: Array<readonly [from: number, to: number]> = [[0, row.units.length]];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const [from, to] = range;
    const fits = row.speechMs(from, to) <= mostMs && row.codePoints(from, to) <= PROMPT_MAX_CODE_POINTS;
    const cut = fits
      ? null
      : (chooseCut(row, ranks, from, to, leastMs) ?? chooseCut(row, ranks, from, to, 0));
    if (cut === null) starts.push(from);
    else open.push([cut, to], [from, cut]);
  }
  return starts;
}

/**
 * Splits paragraphs that may share parts.
 *
 * @param paragraphs in their order, each with something in it
 * @param speed the factor that they are spoken at
 */
export function split(paragraphs: readonly string[], speed: number): Stretch[] {
  const mostMs = MOST_SECONDS * 1000 * speed;
  const units = unitsOf(paragraphs, mostMs);
  const row = new Row(units);
  const textOf = (unit: Unit | undefined): string =>
    unit === undefined ? "" : (paragraphs[unit.paragraph] ?? "").slice(unit.start, unit.end);
  const ranks = new Ranks(units.length, (index) => textOf(units[index]));
  const starts = cutsOf(row, ranks, mostMs, LEAST_SECONDS * 1000 * speed);
  return starts.map((from, index) => {
    const to = starts[index + 1] ?? units.length;
    return {
      text: textOfRange(paragraphs, units.slice(from, to)),
      speechMs: row.speechMs(from, to),
      endsParagraph: (units[to]?.gapBefore ?? 1) === 1,
    };
  });
}

function textOfRange(paragraphs: readonly string[], units: readonly Unit[]): string {
  const texts: string[] = [];
  for (let index = 0; index < units.length; ) {
    const { paragraph, start } = units[index] ?? { paragraph: 0, start: 0 };
    let end = start;
    for (; units[index]?.paragraph === paragraph; index += 1) end = units[index]?.end ?? end;
    texts.push((paragraphs[paragraph] ?? "").slice(start, end));
  }
  return texts.join(PARAGRAPH_JOINT);
}

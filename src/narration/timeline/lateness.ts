/** Finds which parts of a timeline run into the cue behind them, and at which speed they would not. */

export interface TimedPart {
  /** Absent: as soon as the part before has ended. */
  readonly startSeconds?: number | undefined;
  readonly cue?: string | undefined;
  readonly lengthSeconds: number;
}

/** A part that is too long for the time until the next cue. */
export interface Overrun {
  /** Index of the part. */
  readonly part: number;
  /** The cue behind it, and how late that begins. */
  readonly nextCue: string;
  readonly lateSeconds: number;
  /** Further cues that are late because the one behind it is. */
  readonly othersLate: number;
  /** How many times as fast it would have to be; infinite where no speed is enough. */
  readonly factor: number;
}

/** What a listener does not notice, and frames of audio cannot do without. */
const TOLERANCE_SECONDS = 0.05;
/** A mended part shall not end at the very moment when the next begins. */
const ROOM_SECONDS = 0.1;

/** Parts that are spoken behind one another from one cue's time on. */
interface Slot {
  readonly first: number;
  readonly startSeconds: number;
  readonly cue: string;
  lengthSeconds: number;
  /** The longest of its parts. */
  part: number;
}

function slotsOf(parts: readonly TimedPart[]): Slot[] {
  const slots: Slot[] = [];
  for (const [index, { startSeconds, cue = `${index + 1}`, lengthSeconds }] of parts.entries()) {
    const last = slots.at(-1);
    if (startSeconds !== undefined || last === undefined) {
      slots.push({ first: index, part: index, startSeconds: startSeconds ?? 0, cue, lengthSeconds });
      continue;
    }
    last.lengthSeconds += lengthSeconds;
    if (lengthSeconds > (parts[last.part]?.lengthSeconds ?? 0)) last.part = index;
  }
  return slots;
}

/**
 * @param parts in the order of the timeline
 * @param begins when each was heard, where that is known; absent: as the lengths make it
 */
export function overruns(parts: readonly TimedPart[], begins?: readonly number[]): Overrun[] {
  const found: Array<{ -readonly [Key in keyof Overrun]: Overrun[Key] }> = [];
  const slots = slotsOf(parts);
  let end = 0;
  for (const [index, slot] of slots.entries()) {
    end = (begins?.[slot.first] ?? Math.max(slot.startSeconds, end)) + slot.lengthSeconds;
    const next = slots[index + 1];
    if (next === undefined) break;
    const lateSeconds = (begins?.[next.first] ?? end) - next.startSeconds;
    if (lateSeconds <= TOLERANCE_SECONDS) continue;
    const room = next.startSeconds - slot.startSeconds - ROOM_SECONDS;
    const last = found.at(-1);
    // Here it would have fitted, had it begun in time.
    if (slot.lengthSeconds <= room && last !== undefined) {
      last.othersLate += 1;
      continue;
    }
    const longest = parts[slot.part]?.lengthSeconds ?? 0;
    const left = room - (slot.lengthSeconds - longest);
    const factor = left > 0 ? longest / left : Number.POSITIVE_INFINITY;
    found.push({ part: slot.part, nextCue: next.cue, lateSeconds, othersLate: 0, factor });
  }
  return found;
}

const SPEED_MAX = 2;
/** Of a speed that is offered. */
const STEP = 0.05;

/** @returns the speed at which a part fits; `null` where none does that the service takes */
export function fittingSpeed(speed: number, factor: number): number | null {
  const needed = Math.ceil((speed * factor) / STEP - 1e-6) * STEP;
  return needed <= SPEED_MAX + 1e-9 ? Math.round(needed * 100) / 100 : null;
}

const PLAN_SHOWN = 5;

/** What a plan says of parts that are estimated not to fit. @param speed of the narration */
export function lateRemarks(parts: readonly TimedPart[], speed: number): string[] {
  const late = overruns(parts);
  if (late.length === 0) return [];
  const cueOf = (part: number): string =>
    parts.slice(0, part + 1).findLast(({ cue }) => cue !== undefined)?.cue ?? `${part + 1}`;
  const shown = late.slice(0, PLAN_SHOWN).map(({ part, factor }) => {
    const fitting = fittingSpeed(speed, factor);
    return `cue ${cueOf(part)} (${fitting === null ? "at no speed" : `speed ${fitting}`})`;
  });
  const all = fittingSpeed(speed, Math.max(...late.map(({ factor }) => factor)));
  const count = late.length === 1 ? "1 part is" : `${late.length} parts are`;
  return [
    `${count} estimated to run into the next cue, which then begins late: ${shown.join(", ")}${late.length > PLAN_SHOWN ? " and others" : ""}.${all === null ? "" : ` With speed ${all} for the whole none is.`}`,
  ];
}

/** Chooses another take of a part, which is named by a quote of its text. */
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { speedOf, takeOf } from "./part-request.ts";
import { findPartsByQuote } from "./plan/quotes.ts";

export interface Retake {
  /** Words of exactly one part, or `cue 12` of subtitles. */
  readonly quote: string;
  /**
   * Number of the take, so that a repeated call pays nothing; 1 returns to the first, free. Absent for the present take
   * at another speed, or without a speed for {@link USUAL_RETAKE}.
   */
  readonly take?: number | undefined;
  /** Replaces the plan's speed; absent for the plan's. */
  readonly speed?: number | undefined;
}

/** A retake without a number means the second take, because a quote alone asks for another one. */
export const USUAL_RETAKE = 2;

/** Whether a retake leaves its number to {@link USUAL_RETAKE}. */
export const isUsualRetake = ({ take, speed }: Retake): boolean => take === undefined && speed === undefined;

/**
 * Stores chosen takes with the narration. The cost of replaced takes stays on its bill.
 *
 * @returns the same object if nothing changes
 * @throws AudioError `invalid_request` if a quote matches no part, or several
 */
export function applyRetakes(
  state: NarrationState,
  plan: StoredPlan,
  retakes: readonly Retake[],
): NarrationState {
  let after = state;
  for (const retake of retakes) {
    const cue = cueOf(plan, retake.quote);
    const parts = cue === null ? findPartsByQuote(plan.parts, retake.quote) : [cue];
    for (const part of parts) {
      const take = isUsualRetake(retake) ? USUAL_RETAKE : (retake.take ?? takeOf(after, part));
      after = retaken(after, part, take, retake.speed);
    }
  }
  return after;
}

/** Finds the part that begins with "cue 12", because short cues often have equal words. */
function cueOf({ parts }: StoredPlan, quote: string): number | null {
  const [, name] = /^\s*cue\s+(\d+)\s*$/i.exec(quote) ?? [];
  const found = name === undefined ? -1 : parts.findIndex(({ cue }) => cue === name);
  return found === -1 ? null : found;
}

function retaken(
  before: NarrationState,
  part: number,
  take: number,
  speed: number | undefined,
): NarrationState {
  if (takeOf(before, part) === take && speedOf(before, part) === speed) return before;
  const others = before.takes.filter((retake) => retake.part !== part);
  return {
    ...before,
    takes:
      take === 1 && speed === undefined
        ? others
        : [...others, { part, take, ...(speed === undefined ? {} : { speed }) }],
  };
}

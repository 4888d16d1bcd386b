/** Chooses another take of a part, which is named by a quote of its text. */
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { speedOf, takeOf } from "./part-request.ts";
import { findPartsByQuote } from "./plan/quotes.ts";

export interface Retake {
  /** Words of exactly one part, or `cue 12` of subtitles. */
  readonly quote: string;
  /** Number of the take, so that a repeated call pays nothing; 1 returns to the first, free. */
  readonly take: number;
  /** Replaces the plan's speed; absent for the plan's. */
  readonly speed?: number | undefined;
}

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
  for (const { quote, ...choice } of retakes) {
    const cue = cueOf(plan, quote);
    const parts = cue === null ? findPartsByQuote(plan.parts, quote) : [cue];
    for (const part of parts) after = retaken(after, part, choice);
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
  { take, speed }: Omit<Retake, "quote">,
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

/** Chooses another take of a part, which is named by a quote of its text. */
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { speedOf, takeOf } from "./part-request.ts";
import { findPartsByQuote } from "./plan/quotes.ts";

export interface Retake {
  /** Some words of exactly one part, or `cue 12` of subtitles. */
  readonly quote: string;
  /** Absolute, so that a repeat of the call pays for nothing more; 1 goes back to the first, free. */
  readonly take: number;
  /** Instead of the plan's; absent: the plan's. */
  readonly speed?: number | undefined;
}

/**
 * The choice is kept with the narration. What the takes that it replaces had cost stays on its bill.
 *
 * @returns the very same state where nothing changes
 * @throws AudioError `invalid_request` where a quote matches no part, or several
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

/** "cue 12": the part of subtitles that begins with it, because short cues are often worded alike. */
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

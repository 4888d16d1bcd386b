/** Chooses another take or another speed of a part. A quote of the part's text identifies the part. */
import { findPartsByQuote } from "../text/quotes.ts";
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { findChosenSpeed, findChosenTake } from "./part-request.ts";

export interface Retake {
  /** Identifies the part: words that occur in no other part, `cue 12` for subtitles, or `row 5` for a sheet. */
  readonly quote: string;
  /**
   * Number of the take. A take that was already made costs nothing. Take 1 is the first take. If the number is absent
   * and `speed` is given, the part keeps its present take. If both are absent, the take is {@link DEFAULT_RETAKE_TAKE}.
   */
  readonly take?: number | undefined;
  /** Speed of the part; absent for the plan's speed. */
  readonly speed?: number | undefined;
}

/** The take that is chosen if a retake has only a quote, without a number or a speed. */
export const DEFAULT_RETAKE_TAKE = 2;

/** Whether a retake has only a quote. Such a retake chooses the take {@link DEFAULT_RETAKE_TAKE}. */
export const isQuoteOnlyRetake = ({ take, speed }: Retake): boolean =>
  take === undefined && speed === undefined;

/**
 * Returns the state with the chosen takes and speeds. Replaced takes stay on the narration's bill.
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
    const numbered = findPartsByNumber(plan, retake.quote);
    const parts = numbered.length === 0 ? findPartsByQuote(plan.parts, retake.quote) : numbered;
    for (const part of parts) {
      const take = isQuoteOnlyRetake(retake)
        ? DEFAULT_RETAKE_TAKE
        : (retake.take ?? findChosenTake(after, part));
      after = withRetake(after, part, take, retake.speed);
    }
  }
  return after;
}

/**
 * Finds the parts of a cue or a row if the quote is its number, such as "cue 12" or "row 5". Words would not identify a
 * cue or a row, because cues and rows are short and often have the same words.
 */
function findPartsByNumber({ parts, chapters }: StoredPlan, quote: string): number[] {
  const [, kind, number] = /^\s*(cue|row)\s+(\d+)\s*$/i.exec(quote) ?? [];
  if (kind === undefined) return [];
  const isCue = kind.toLowerCase() === "cue";
  return parts.flatMap(({ cue, chapterIndex }, index) => {
    const position = isCue ? cue : chapters[chapterIndex]?.row?.toString();
    return position === number ? [index] : [];
  });
}

function withRetake(
  before: NarrationState,
  partIndex: number,
  take: number,
  speed: number | undefined,
): NarrationState {
  if (findChosenTake(before, partIndex) === take && findChosenSpeed(before, partIndex) === speed)
    return before;
  const otherRetakes = before.retakes.filter((retake) => retake.partIndex !== partIndex);
  return {
    ...before,
    retakes:
      take === 1 && speed === undefined
        ? otherRetakes
        : [...otherRetakes, { partIndex, take, ...(speed === undefined ? {} : { speed }) }],
  };
}

/** How fast this process may poll as the shared reads are used up: pure arithmetic. */

/** A budget of reads that polls take their part of: the account's, or this process's own share without the store. */
export interface PollBudget {
  /** Reads allowed in one window. */
  readonly most: number;
  readonly windowMs: number;
}

/** Parts of the budget, as of 60: until half is used nobody is slowed down, and what is left ends well before the window. */
const FREE = 30 / 60;
const FASTEST = 25 / 60;
const RESERVE = 8 / 60;

/** How many reads polls may take: the rest stays for downloads and for who asks explicitly. */
export function mostPolls(most: number): number {
  return most - Math.round(most * RESERVE);
}

/**
 * Milliseconds that all polls of this process keep between them: none while at most half is used, then more the
 * less is left, for other processes draw on the same budget.
 *
 * @param used reads that count in the window, as last heard
 */
export function pollGapMs(used: number, { most, windowMs }: PollBudget): number {
  if (used <= most * FREE) return 0;
  const left = mostPolls(most) - used;
  return windowMs / Math.max(Math.round(most * RESERVE), Math.min(left, most * FASTEST));
}

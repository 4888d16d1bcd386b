/** Sums what a narration has reserved or was charged, over the tasks that were sent for it. Pure. */

import { MAXIMUM_CHARGE_CREDITS } from "../../contract/billing.ts";

/** A task that was sent for a narration, as the record of one API key knows it. */
export interface BillLine {
  /** See `workName` in ledger/identity.ts. */
  readonly workName: string;
  readonly keyId: string;
  /** Reserved credits while the task runs, then the charged ones; 0 if nothing was charged. */
  readonly credits: number;
  /** Whether the credits are still a reservation. */
  readonly isInFlight: boolean;
  /** Whether the create was sent and has no response yet. */
  readonly isUnanswered: boolean;
}

/** Keeps one line for each work, because a task counts once, whichever key sent it. */
function keepOnePerWork(lines: readonly BillLine[], rankOf: (line: BillLine) => number): BillLine[] {
  const byWork = new Map<string, BillLine>();
  for (const line of lines) {
    const known = byWork.get(line.workName);
    if (known === undefined || rankOf(line) > rankOf(known)) byWork.set(line.workName, line);
  }
  return [...byWork.values()];
}

/**
 * Picks the lines to show. Answered tasks of this key come first, then those of other keys, then unanswered
 * creates.
 */
export const billByWork = (lines: readonly BillLine[], keyId: string): BillLine[] =>
  keepOnePerWork(lines, ({ keyId: its, credits, isUnanswered }) => {
    if (credits === 0 || isUnanswered) return credits;
    return its === keyId ? Infinity : MAXIMUM_CHARGE_CREDITS + credits;
  });

/**
 * Sums the credits that a limit counts. Once this key's line of a work has credits, it counts beside the lines of other
 * keys. An earlier key may belong to another account, and then both accounts pay.
 *
 * @param exceptWork the work of the create that asks; the caller adds its reservation
 */
export const billedCredits = (lines: readonly BillLine[], keyId: string, exceptWork: string): number =>
  keepOnePerWork(lines, (line) => (line.keyId === keyId && line.credits > 0 ? Infinity : line.credits))
    .filter(({ workName }) => workName !== exceptWork)
    .reduce((sum, { credits }) => sum + credits, 0);

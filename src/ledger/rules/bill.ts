/** Sums what a narration has reserved or was charged, over the tasks that were sent for it. Pure. */

import { MAXIMUM_CHARGE_CREDITS } from "../../contract/billing.ts";

/** A task that was sent for a narration, as the record of one API key knows it. */
export interface BillLine {
  /** See `workName` in ledger/identity.ts. */
  readonly workName: string;
  readonly keyId: string;
  /** The reservation while the task runs, then its charge; 0 once nothing counts. */
  readonly credits: number;
  /** The credits hold a reservation. */
  readonly isInFlight: boolean;
  /** The create was sent, and no answer to it was seen. */
  readonly isUnanswered: boolean;
}

/** One line for each work, because a task counts once, whatever key sent it. */
function onePerWork(lines: readonly BillLine[], rankOf: (line: BillLine) => number): BillLine[] {
  const byWork = new Map<string, BillLine>();
  for (const line of lines) {
    const known = byWork.get(line.workName);
    if (known === undefined || rankOf(line) > rankOf(known)) byWork.set(line.workName, line);
  }
  return [...byWork.values()];
}

/** Picks the lines that are shown: answered ones first, those of this key before others, then unanswered ones. */
export const billByWork = (lines: readonly BillLine[], keyId: string): BillLine[] =>
  onePerWork(lines, ({ keyId: its, credits, isUnanswered }) => {
    if (credits === 0 || isUnanswered) return credits;
    return its === keyId ? Infinity : MAXIMUM_CHARGE_CREDITS + credits;
  });

/**
 * Sums the credits that a limit counts. The line of this key counts as soon as it has credits: its account may not be that of an earlier
 * key, and then both pay.
 *
 * @param exceptWork of the create that asks: its reservation is added by the question
 */
export const billedCredits = (lines: readonly BillLine[], keyId: string, exceptWork: string): number =>
  onePerWork(lines, (line) => (line.keyId === keyId && line.credits > 0 ? Infinity : line.credits))
    .filter(({ workName }) => workName !== exceptWork)
    .reduce((sum, { credits }) => sum + credits, 0);

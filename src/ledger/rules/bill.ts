/** What a narration has reserved or was charged: the sum over the tasks that were sent for it. Pure. */

/** A task that was sent for a narration, as the record of one API key knows it. */
export interface BillLine {
  /** See `workName` in ledger/identity.ts. */
  readonly workName: string;
  readonly keyId: string;
  /** The reservation while the task runs, then its charge; 0 once nothing counts. */
  readonly credits: number;
  /** The credits hold a reservation. */
  readonly isInFlight: boolean;
}

/**
 * One line for each work. A task counts once, whatever key sent it: this key's line counts as soon as it has credits,
 * because the service has then answered this key; until then the line of an earlier key counts.
 */
export function billByWork(lines: readonly BillLine[], keyId: string): BillLine[] {
  const byWork = new Map<string, BillLine>();
  const rank = (line: BillLine): number =>
    line.keyId === keyId && line.credits > 0 ? Infinity : line.credits;
  for (const line of lines) {
    const known = byWork.get(line.workName);
    if (known === undefined || rank(line) > rank(known)) byWork.set(line.workName, line);
  }
  return [...byWork.values()];
}

/** @param exceptWork of the create that asks: its reservation is added by the question */
export const billedCredits = (lines: readonly BillLine[], keyId: string, exceptWork: string): number =>
  billByWork(lines, keyId)
    .filter(({ workName }) => workName !== exceptWork)
    .reduce((sum, { credits }) => sum + credits, 0);

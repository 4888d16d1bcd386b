/** Sums the credits that are reserved or charged for a narration's tasks. Pure. */
import { MAXIMUM_CHARGE_CREDITS } from "../../contract/billing.ts";

/** A task that was sent for a narration, as the record of one API key states it. */
export interface BillLine {
  /** The lookup key of the task's work; see `toWorkLookupKey` in ledger/identity.ts. */
  readonly workLookupKey: string;
  readonly apiKeyId: string;
  /** Reserved credits while the task runs, then charged credits; 0 if nothing was charged. */
  readonly credits: number;
  /** Whether the credits are still a reservation. */
  readonly isInFlight: boolean;
  /** Whether the create was sent and has no response yet. */
  readonly isUnanswered: boolean;
}

/**
 * Keeps one line of the bill for each work, so that a task counts once, whichever API key sent it. Keeps the line for
 * which `rankOf` returns the highest number.
 */
function keepOnePerWork(lines: readonly BillLine[], rankOf: (line: BillLine) => number): BillLine[] {
  const byWork = new Map<string, BillLine>();
  for (const line of lines) {
    const keptLine = byWork.get(line.workLookupKey);
    if (keptLine === undefined || rankOf(line) > rankOf(keptLine)) byWork.set(line.workLookupKey, line);
  }
  return [...byWork.values()];
}

/**
 * Picks one line to show for each work. Prefers an answered create of this key, then an answered create of another key,
 * then an unanswered create, then a line without credits.
 */
export const groupBillByWork = (lines: readonly BillLine[], apiKeyId: string): BillLine[] =>
  keepOnePerWork(lines, ({ apiKeyId: lineApiKeyId, credits, isUnanswered }) => {
    if (credits === 0 || isUnanswered) return credits;
    return lineApiKeyId === apiKeyId ? Infinity : MAXIMUM_CHARGE_CREDITS + credits;
  });

/**
 * Sums the credits that count towards a narration's credit limit. For each work, one line of the bill counts: the line
 * of the API key in use if that line has credits, otherwise the line with the most credits. The key in use is
 * preferred, because an earlier key may belong to another account.
 *
 * @param exceptWork the lookup key of the work whose create asks for admission. The sum leaves out this work, because
 *   the caller adds the work's reservation
 */
export const sumBilledCredits = (lines: readonly BillLine[], apiKeyId: string, exceptWork: string): number =>
  keepOnePerWork(lines, (line) => (line.apiKeyId === apiKeyId && line.credits > 0 ? Infinity : line.credits))
    .filter(({ workLookupKey }) => workLookupKey !== exceptWork)
    .reduce((sum, { credits }) => sum + credits, 0);

/** Sums the credits that are reserved or charged for a narration's tasks. Pure. */
import { MAXIMUM_CHARGE_CREDITS } from "../../contract/billing.ts";

/** A task that was sent for a narration, as the record of one API key states it. */
export interface BillLine {
  /** The lookup key of the task's request; see `toRequestLookupKey` in ledger/identity.ts. */
  readonly requestLookupKey: string;
  readonly apiKeyId: string;
  /** Reserved credits while the task runs, then charged credits; 0 if nothing was charged. */
  readonly credits: number;
  /** Whether the credits are still a reservation. */
  readonly isReserved: boolean;
  /** Whether the submission was sent and has no response yet. */
  readonly isUnresolved: boolean;
}

/**
 * Keeps one line of the bill for each request, so that a task counts once, whichever API key sent it. Keeps the line
 * for which `rankOf` returns the highest number.
 */
function keepOnePerRequest(lines: readonly BillLine[], rankOf: (line: BillLine) => number): BillLine[] {
  const byRequest = new Map<string, BillLine>();
  for (const line of lines) {
    const keptLine = byRequest.get(line.requestLookupKey);
    if (keptLine === undefined || rankOf(line) > rankOf(keptLine)) byRequest.set(line.requestLookupKey, line);
  }
  return [...byRequest.values()];
}

/**
 * Picks one line to show for each request. Lines of the API key in use come before lines of other API keys. Lines of
 * unresolved submissions come after both, and lines without credits come last.
 */
export const selectLinePerRequest = (lines: readonly BillLine[], apiKeyId: string): BillLine[] =>
  keepOnePerRequest(lines, ({ apiKeyId: lineApiKeyId, credits, isUnresolved }) => {
    if (credits === 0 || isUnresolved) return credits;
    return lineApiKeyId === apiKeyId ? Infinity : MAXIMUM_CHARGE_CREDITS + credits;
  });

/**
 * Sums the credits that count towards a narration's credit limit. For each request, one line of the bill counts: the
 * line of the API key in use if that line has credits, otherwise the line with the most credits. The line of the API
 * key in use comes first, because the line of another API key may show what another account paid.
 *
 * @param exceptRequestLookupKey the lookup key of the request that asks for admission. The sum leaves out this request;
 *   the caller adds its reservation
 */
export const sumBilledCredits = (
  lines: readonly BillLine[],
  apiKeyId: string,
  exceptRequestLookupKey: string,
): number =>
  keepOnePerRequest(lines, (line) =>
    line.apiKeyId === apiKeyId && line.credits > 0 ? Infinity : line.credits,
  )
    .filter(({ requestLookupKey }) => requestLookupKey !== exceptRequestLookupKey)
    .reduce((sum, { credits }) => sum + credits, 0);

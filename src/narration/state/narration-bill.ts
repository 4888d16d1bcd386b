/** Computes the bill of a narration: the tasks that were sent for it, each counted once. */
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import type { BillLine } from "../../ledger/rules/bill.ts";

export interface NarrationBill {
  /** Charged credits by lookup key of the request (see `toRequestLookupKey` in ledger/identity.ts). */
  readonly chargedByRequest: ReadonlyMap<string, number>;
  readonly chargedCredits: number;
  /** Credits that are reserved for running tasks. */
  readonly reservedCredits: number;
}

/**
 * Adds up the lines of a bill.
 *
 * @param lines one line for each task
 */
export function sumNarrationBill(lines: readonly BillLine[]): NarrationBill {
  const running = lines.filter(({ isReserved }) => isReserved).length;
  const chargedByRequest = new Map(
    lines.map(({ requestLookupKey, credits, isReserved }) => [
      requestLookupKey,
      isReserved ? Math.max(0, credits - RESERVED_CREDITS) : credits,
    ]),
  );
  return {
    chargedByRequest,
    chargedCredits: [...chargedByRequest.values()].reduce((sum, credits) => sum + credits, 0),
    reservedCredits: running * RESERVED_CREDITS,
  };
}

/** Computes the bill of a narration: the tasks that were sent for it, each counted once. */
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import type { BillLine } from "../../ledger/rules/bill.ts";

export interface NarrationBill {
  /** Charged credits by lookup key of the work (see `toWorkLookupKey` in ledger/identity.ts). */
  readonly chargedByWork: ReadonlyMap<string, number>;
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
  const running = lines.filter(({ isInFlight }) => isInFlight).length;
  const chargedByWork = new Map(
    lines.map(({ workLookupKey, credits, isInFlight }) => [
      workLookupKey,
      isInFlight ? Math.max(0, credits - RESERVED_CREDITS) : credits,
    ]),
  );
  return {
    chargedByWork,
    chargedCredits: [...chargedByWork.values()].reduce((sum, credits) => sum + credits, 0),
    reservedCredits: running * RESERVED_CREDITS,
  };
}

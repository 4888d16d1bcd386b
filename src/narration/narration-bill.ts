/** The bill of a narration: the tasks that were sent for it, each once. */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { BillLine } from "../ledger/rules/bill.ts";

export interface NarrationBill {
  /** Charges by work id. */
  readonly chargedByWork: ReadonlyMap<string, number>;
  readonly chargedCredits: number;
  /** Held for the tasks that run. */
  readonly reservedCredits: number;
}

/** @param lines one for each work */
export function narrationBill(lines: readonly BillLine[]): NarrationBill {
  const running = lines.filter(({ isInFlight }) => isInFlight).length;
  const chargedByWork = new Map(
    lines.map(({ workName, credits, isInFlight }) => [
      workName,
      isInFlight ? Math.max(0, credits - RESERVED_CREDITS) : credits,
    ]),
  );
  return {
    chargedByWork,
    chargedCredits: [...chargedByWork.values()].reduce((sum, credits) => sum + credits, 0),
    reservedCredits: running * RESERVED_CREDITS,
  };
}

/** What a narration has cost so far: the tasks that were sent for it, each once. */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { BillLine } from "../ledger/rules/bill.ts";

export interface NarrationBill {
  readonly workNames: ReadonlySet<string>;
  readonly chargedCredits: number;
  /** Held for the tasks that run. */
  readonly reservedCredits: number;
}

/** @param lines one for each work */
export function narrationBill(lines: readonly BillLine[]): NarrationBill {
  const running = lines.filter(({ isInFlight }) => isInFlight).length;
  const sum = lines.reduce((credits, line) => credits + line.credits, 0);
  const reservedCredits = running * RESERVED_CREDITS;
  return {
    workNames: new Set(lines.map(({ workName }) => workName)),
    chargedCredits: Math.max(0, sum - reservedCredits),
    reservedCredits,
  };
}

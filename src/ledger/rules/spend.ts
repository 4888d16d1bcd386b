/** Sums the spend of records by origin and quarter of an hour, so that a budget reads no record. Pure. */
import { SPEND_BUCKET_MS } from "../horizons.ts";

/** Longer than any budget's window, so that a wall clock that runs days ahead for a while forgets no sum of today. */
export const SPEND_KEPT_MS = 30 * 24 * 60 * 60_000;

/** The amount that one record adds to one quarter of an hour. */
export interface SpendShare {
  readonly quarter: number;
  readonly credits: number;
}

export function spendShare(
  spend: { readonly credits: number; readonly atMs: number } | null,
): SpendShare | null {
  return spend === null
    ? null
    : { quarter: Math.floor(spend.atMs / SPEND_BUCKET_MS), credits: spend.credits };
}

/** The newest quarter that lies wholly before the window. Quarters in the future count, so a clock set back frees nothing. */
export function lastQuarterBefore(wallMs: number, windowMs: number): number {
  return Math.floor((wallMs - windowMs) / SPEND_BUCKET_MS) - 1;
}

/**
 * The changes of sums when shares are taken out and put in, in the order of quarters, so that transactions lock
 * alike.
 */
export function spendChanges(
  out: ReadonlyArray<SpendShare | null>,
  into: ReadonlyArray<SpendShare | null>,
): SpendShare[] {
  const byQuarter = new Map<number, number>();
  const add = (share: SpendShare | null, sign: 1 | -1): void => {
    if (share === null) return;
    byQuarter.set(share.quarter, (byQuarter.get(share.quarter) ?? 0) + sign * share.credits);
  };
  for (const share of out) add(share, -1);
  for (const share of into) add(share, 1);
  return [...byQuarter]
    .map(([quarter, credits]) => ({ quarter, credits }))
    .filter(({ credits }) => credits !== 0)
    .sort((one, other) => one.quarter - other.quarter);
}

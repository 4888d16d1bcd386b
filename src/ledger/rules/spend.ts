/**
 * Sums the spend of records by service and quarter of an hour, so that a budget can be checked without reading records.
 * Pure.
 */
import { SPEND_BUCKET_MS } from "../durations.ts";

/**
 * How long sums are kept. This is much longer than any budget's window, so that no sums of the window are deleted if
 * the wall clock runs days ahead for a while.
 */
export const SPEND_RETENTION_MS = 30 * 24 * 60 * 60_000;

/** The credits that one record adds to the sum of one quarter of an hour. */
export interface BucketedSpend {
  readonly bucketIndex: number;
  readonly credits: number;
}

/**
 * Assigns a record's spend to the quarter of an hour that contains `atMs`, by wall-clock time. Returns `null` for a
 * record without spend.
 */
export function toBucketedSpend(
  spend: { readonly credits: number; readonly atMs: number } | null,
): BucketedSpend | null {
  return spend === null
    ? null
    : { bucketIndex: Math.floor(spend.atMs / SPEND_BUCKET_MS), credits: spend.credits };
}

/**
 * Returns the newest quarter of an hour that is wholly before the window. A budget counts all later quarters, even
 * those in the future, so that setting the clock back frees no credits.
 */
export function computeLastBucketBefore(wallMs: number, windowMs: number): number {
  return Math.floor((wallMs - windowMs) / SPEND_BUCKET_MS) - 1;
}

/**
 * Returns how the sums change if `removedSpends` are removed and `addedSpends` are added. Sorts the changes by
 * quarter, so that all transactions take locks in the same order.
 */
export function computeSpendChanges(
  removedSpends: ReadonlyArray<BucketedSpend | null>,
  addedSpends: ReadonlyArray<BucketedSpend | null>,
): BucketedSpend[] {
  const creditsByBucket = new Map<number, number>();
  const add = (spend: BucketedSpend | null, sign: 1 | -1): void => {
    if (spend === null) return;
    creditsByBucket.set(
      spend.bucketIndex,
      (creditsByBucket.get(spend.bucketIndex) ?? 0) + sign * spend.credits,
    );
  };
  for (const spend of removedSpends) add(spend, -1);
  for (const spend of addedSpends) add(spend, 1);
  return [...creditsByBucket]
    .map(([bucketIndex, credits]) => ({ bucketIndex, credits }))
    .filter(({ credits }) => credits !== 0)
    .sort((one, other) => one.bucketIndex - other.bucketIndex);
}

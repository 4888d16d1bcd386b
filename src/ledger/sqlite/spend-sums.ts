/** What records spend, as sums per origin and quarter of an hour, so that a budget is counted without reading them. */
import { z } from "zod";
import { SPEND_BUCKET_MS } from "../horizons.ts";
import type { Session } from "./database.ts";

/** Far longer than any budget's window: a wall clock that is some days ahead for a while must not forget today's sums. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

const sumRow = z.object({ counted: z.number() });

/** What one record adds to the sums, as its columns say. */
export interface Contribution {
  readonly origin: string;
  readonly bucket: number;
  readonly credits: number;
}

export function contributionOf(
  origin: string,
  spend: { readonly credits: number; readonly atMs: number } | null,
): Contribution | null {
  return spend === null
    ? null
    : { origin, bucket: Math.floor(spend.atMs / SPEND_BUCKET_MS), credits: spend.credits };
}

export function add(session: Session, { origin, bucket, credits }: Contribution): void {
  session.run(
    `INSERT INTO spend (origin, bucket, credits) VALUES (?, ?, ?)
     ON CONFLICT (origin, bucket) DO UPDATE SET credits = credits + excluded.credits`,
    origin,
    bucket,
    credits,
  );
}

/** Of a sum that has been forgotten for its age nothing is taken back. */
export function takeBack(session: Session, { origin, bucket, credits }: Contribution): void {
  session.run(
    "UPDATE spend SET credits = max(0, credits - ?) WHERE origin = ? AND bucket = ?",
    credits,
    origin,
    bucket,
  );
}

/** The last bucket that has left the window, which ends now: a bucket leaves when all of it lies before. */
function lastBucketBefore(wallMs: number, windowMs: number): number {
  return (wallMs - windowMs) / SPEND_BUCKET_MS - 1;
}

/**
 * Credits of the origin inside the window; dates ahead count, so that a clock set back frees nothing.
 *
 * @param without a record's own earlier spend, which is not counted
 */
export function countedCredits(
  session: Session,
  wallMs: number,
  query: { readonly origin: string; readonly windowMs: number; readonly without?: Contribution | null },
): number {
  const { origin, windowMs, without = null } = query;
  const before = lastBucketBefore(wallMs, windowMs);
  const row = session.get(
    "SELECT coalesce(sum(credits), 0) AS counted FROM spend WHERE origin = ? AND bucket > ?",
    origin,
    before,
  );
  const { counted } = sumRow.parse(row);
  const isCounted = without !== null && without.origin === origin && without.bucket > before;
  return isCounted ? Math.max(0, counted - without.credits) : counted;
}

export function forgetOld(session: Session, wallMs: number, origin: string): void {
  session.run(
    "DELETE FROM spend WHERE origin = ? AND bucket <= ?",
    origin,
    lastBucketBefore(wallMs, KEPT_MS),
  );
}

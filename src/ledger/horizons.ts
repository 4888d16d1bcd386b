/** Durations of the ledger: of a place in flight, of a sum of spending, and of a lease. */
import { RECOVERY_WINDOW_SECONDS } from "../contract/service-limits.ts";

/**
 * After this time a task counts as ended and charged, because the service recovers for at most 60 minutes. Without the
 * limit, a record lost between its task's acceptance and end would hold a place in flight forever.
 */
export const MAX_IN_FLIGHT_MS = (RECOVERY_WINDOW_SECONDS + 5 * 60) * 1000;

/** Spend is summed by quarters of an hour. */
export const SPEND_BUCKET_MS = 15 * 60 * 1000;

/**
 * How long a lease outlives its last renewal, before scaling. A living process renews its leases three times within it.
 */
const LEASE_TTL_MS = 15_000;
/** The shortest lease after scaling, because a busy machine would lose shorter ones. */
const MIN_LEASE_TTL_MS = 3_000;

/**
 * Returns how long a lease outlives its last renewal. Tests scale it down, because they cannot wait that long for a
 * process that hangs.
 */
export const leaseTtlMs = (timeScale: number): number => Math.max(MIN_LEASE_TTL_MS, LEASE_TTL_MS * timeScale);

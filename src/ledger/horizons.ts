/** Durations of the ledger: places in flight, quarters of the budget, leases. */
import { RECOVERY_WINDOW_SECONDS } from "../contract/service-limits.ts";

/**
 * A task is waited for no longer than this, and taken to have ended and been charged by then: the service recovers for
 * at most 60 minutes. Without it, a record lost between its task's acceptance and its end would hold a place in flight
 * for ever.
 */
export const IN_FLIGHT_AT_MOST_MS = (RECOVERY_WINDOW_SECONDS + 5 * 60) * 1000;

/** Spend is summed by quarters of an hour. */
export const SPEND_BUCKET_MS = 15 * 60 * 1000;

/** A process that is alive renews its leases three times within this. */
const LEASE_TTL_MS = 15_000;
/** Shorter, a machine that is merely busy would lose leases. */
const MIN_LEASE_TTL_MS = 3_000;

/** How long a lease outlives its last renewal; shorter in tests, which cannot wait so long for a process that hangs. */
export const leaseTtlMs = (timeScale: number): number => Math.max(MIN_LEASE_TTL_MS, LEASE_TTL_MS * timeScale);

/** How long concurrency slots and leases last. */
import { RECOVERY_WINDOW_SECONDS } from "../contract/service-limits.ts";

/**
 * The longest time for which a submission or a task is tracked: the 60 minutes in which the service may finish a task,
 * and a margin of 5 minutes. After this time, concurrency slots are freed, retries end, and heartbeats are forgotten.
 * Without this limit, a task that no process watches would keep its concurrency slot forever.
 */
export const RECOVERY_TIMEOUT_MS = (RECOVERY_WINDOW_SECONDS + 5 * 60) * 1000;

/** How long a lease lasts after its last renewal. A living process renews its leases three times within this time. */
const LEASE_TTL_MS = 15_000;
/**
 * Minimum duration of a lease at any time scale. On a busy machine, a shorter lease would expire before it is renewed.
 */
const MIN_LEASE_TTL_MS = 3_000;

/**
 * Returns how long a lease lasts after its last renewal. Tests pass a small `timeScale`, so that leases expire sooner.
 */
export const scaleLeaseTtlMs = (timeScale: number): number =>
  Math.max(MIN_LEASE_TTL_MS, LEASE_TTL_MS * timeScale);

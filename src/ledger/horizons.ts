/** Owns how long coordination remembers what no window bounds; the same for every store. */
import { RECOVERY_WINDOW_SECONDS } from "../contract/limits.ts";

/**
 * An accepted task whose end nobody reported is taken to have ended after this, and to have been charged by then:
 * the service recovers for at most 60 minutes. Without it, a record lost between its task's acceptance and its end
 * would hold a slot for ever.
 */
export const IN_FLIGHT_AT_MOST_MS = (RECOVERY_WINDOW_SECONDS + 5 * 60) * 1000;

/** Slots that no longer count are kept this long, so that a late answer still finds the slot it belongs to. */
export const SLOT_KEPT_MS = 60 * 60 * 1000;

/** A process that is alive renews its leases three times within this. */
const LEASE_TTL_MS = 15_000;
/** Shorter, a machine that is merely busy would lose leases. */
const SHORTEST_LEASE_TTL_MS = 3_000;

/** How long a lease outlives its last renewal; shorter in tests, which cannot wait so long for a process that hangs. */
export const leaseTtlMs = (timeScale: number): number =>
  Math.max(SHORTEST_LEASE_TTL_MS, LEASE_TTL_MS * timeScale);

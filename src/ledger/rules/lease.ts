/** Leases: which process may drive a record or a narration, and until when. Pure. */
import type { ProcessId } from "../../process-id.ts";

export interface Lease {
  readonly owner: ProcessId;
  /** The steady-clock time of the last renewal. */
  readonly renewedSteadyMs: number;
  readonly ttlMs: number;
}

/** Returns the owner of a lease; `null` if it is free or has expired. A date in the future counts as now. */
export function leaseOwner(lease: Lease | null, nowMs: number): ProcessId | null {
  if (lease === null) return null;
  return nowMs - Math.min(lease.renewedSteadyMs, nowMs) < lease.ttlMs ? lease.owner : null;
}

/**
 * Takes or renews a lease.
 *
 * @param replacing a lease owner that is known to be dead; its lease is taken at once
 * @returns the current lease, which may belong to another process
 */
export function acquiredLease(
  current: Lease | null,
  wanted: { readonly owner: ProcessId; readonly ttlMs: number; readonly replacing?: ProcessId | undefined },
  nowMs: number,
): Lease {
  const { owner, ttlMs, replacing } = wanted;
  const currentOwner = leaseOwner(current, nowMs);
  if (current !== null && currentOwner !== null && currentOwner !== owner && currentOwner !== replacing) {
    // A date in the future must have been written before the clock restarted. Count the lease from now on.
    return { ...current, renewedSteadyMs: Math.min(current.renewedSteadyMs, nowMs) };
  }
  return { owner, ttlMs, renewedSteadyMs: nowMs };
}

/** Renews a lease of this process, even an expired one. Leaves a free lease and leases of other processes unchanged. */
export function renewedLease(current: Lease | null, owner: ProcessId, nowMs: number): Lease | null {
  return current?.owner === owner ? { ...current, renewedSteadyMs: nowMs } : current;
}

/** Releases a lease of this process. Leaves leases of other processes unchanged. */
export function releasedLease(current: Lease | null, owner: ProcessId): Lease | null {
  return current?.owner === owner ? null : current;
}

/** Leases: which process may drive a record or a narration, and until when. Pure. */
import type { ProcessId } from "../../process-id.ts";

export interface Lease {
  readonly owner: ProcessId;
  /** The steady-clock time of the last renewal. */
  readonly renewedSteadyMs: number;
  readonly ttlMs: number;
}

/**
 * Returns the owner of a lease; `null` if there is no lease or if it has expired. A renewal time in the future counts
 * as now.
 */
export function findLeaseOwner(lease: Lease | null, nowSteadyMs: number): ProcessId | null {
  if (lease === null) return null;
  return nowSteadyMs - Math.min(lease.renewedSteadyMs, nowSteadyMs) < lease.ttlMs ? lease.owner : null;
}

/**
 * Takes or renews a lease.
 *
 * @param deadOwner a lease owner that is known to be dead; its lease is taken at once
 * @returns the current lease, which may belong to another process
 */
export function acquireLease(
  current: Lease | null,
  wanted: { readonly owner: ProcessId; readonly ttlMs: number; readonly deadOwner?: ProcessId | undefined },
  nowSteadyMs: number,
): Lease {
  const { owner, ttlMs, deadOwner } = wanted;
  const currentOwner = findLeaseOwner(current, nowSteadyMs);
  if (current !== null && currentOwner !== null && currentOwner !== owner && currentOwner !== deadOwner) {
    // A renewal time in the future was written before the steady clock restarted. Set it to now.
    return { ...current, renewedSteadyMs: Math.min(current.renewedSteadyMs, nowSteadyMs) };
  }
  return { owner, ttlMs, renewedSteadyMs: nowSteadyMs };
}

/** Renews a lease of this process, even an expired one. Leaves a free lease and leases of other processes unchanged. */
export function renewLease(current: Lease | null, owner: ProcessId, nowSteadyMs: number): Lease | null {
  return current?.owner === owner ? { ...current, renewedSteadyMs: nowSteadyMs } : current;
}

/** Releases a lease of this process. Leaves leases of other processes unchanged. */
export function releaseLease(current: Lease | null, owner: ProcessId): Lease | null {
  return current?.owner === owner ? null : current;
}

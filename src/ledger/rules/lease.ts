/** Leases: which process may drive a record or a narration, and until when. Pure. */
import type { ProcessId } from "../../process-id.ts";

export interface Lease {
  readonly owner: ProcessId;
  /** When it was last renewed, on the steady clock. */
  readonly atMs: number;
  readonly ttlMs: number;
}

/** The owner of a lease, or `null` when it is free or has expired. A date in the future counts from now. */
export function leaseOwner(lease: Lease | null, nowMs: number): ProcessId | null {
  if (lease === null) return null;
  return nowMs - Math.min(lease.atMs, nowMs) < lease.ttlMs ? lease.owner : null;
}

/**
 * Takes or renews a lease.
 *
 * @param replacing an owner that is known to be dead: its lease is taken at once
 * @returns the lease as it is now, which may be another process's
 */
export function acquiredLease(
  current: Lease | null,
  wanted: { readonly owner: ProcessId; readonly ttlMs: number; readonly replacing?: ProcessId | undefined },
  nowMs: number,
): Lease {
  const { owner, ttlMs, replacing } = wanted;
  const held = leaseOwner(current, nowMs);
  if (current !== null && held !== null && held !== owner && held !== replacing) {
    // A date in the future counts from when it is first seen.
    return { ...current, atMs: Math.min(current.atMs, nowMs) };
  }
  return { owner, ttlMs, atMs: nowMs };
}

/** The lease with a new date, if this process owns it, however late; another's or a free one stays as it is. */
export function renewedLease(current: Lease | null, owner: ProcessId, nowMs: number): Lease | null {
  return current?.owner === owner ? { ...current, atMs: nowMs } : current;
}

/** `null` when this process owned it; another's stays as it is. */
export function releasedLease(current: Lease | null, owner: ProcessId): Lease | null {
  return current?.owner === owner ? null : current;
}

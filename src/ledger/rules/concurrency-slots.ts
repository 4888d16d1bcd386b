/** Decides which submissions and tasks hold a concurrency slot, and until when. Pure. */
import type { ProcessId } from "../../process-id.ts";
import { RECOVERY_TIMEOUT_MS } from "../durations.ts";
import type { ConcurrencySlotState, RecordStatus } from "../record.ts";
import type { ApiKeyState } from "./api-key-state.ts";

/**
 * A concurrency slot. A slot whose time is over is freed: `state` becomes `null`, and `sinceSteadyMs` is kept. The kept
 * time prevents later writes with the same status from taking the slot again.
 */
export interface ConcurrencySlot {
  readonly state: ConcurrencySlotState | null;
  /** The steady-clock time when the slot was taken. */
  readonly sinceSteadyMs: number | null;
  readonly owner: ProcessId | null;
}

const NO_CONCURRENCY_SLOT: ConcurrencySlot = { state: null, sinceSteadyMs: null, owner: null };

export interface ConcurrencySlotDurations {
  /** How long an unresolved submission keeps its concurrency slot after its process was last seen alive. */
  readonly unresolvedSlotTtlMs: number;
  readonly limitWindowMs: number;
}

/** Returns the time at which a concurrency slot expires. The slot becomes free earlier if its task ends earlier. */
function computeConcurrencySlotExpiryMs(
  { state: concurrencySlotState, sinceSteadyMs, owner }: ConcurrencySlot,
  { heartbeatSteadyMsByProcess }: ApiKeyState,
  { unresolvedSlotTtlMs, limitWindowMs }: ConcurrencySlotDurations,
  nowSteadyMs: number,
): number {
  // A time later than now was written before the steady clock restarted. Count from the present time instead.
  const startMs = Math.min(sinceSteadyMs ?? nowSteadyMs, nowSteadyMs);
  if (concurrencySlotState === "accepted") return startMs + RECOVERY_TIMEOUT_MS;
  const seenAtMs = Math.max(
    startMs,
    owner === null ? startMs : (heartbeatSteadyMsByProcess[owner] ?? startMs),
  );
  // Free the concurrency slot after a maximum time even if heartbeats continue, because a living process may have given
  // up on the submission.
  return Math.min(seenAtMs + unresolvedSlotTtlMs, startMs + limitWindowMs + unresolvedSlotTtlMs);
}

/** Returns the times at which the occupied concurrency slots expire, the soonest first. */
export function listConcurrencySlotExpiriesMs(
  concurrencySlots: readonly ConcurrencySlot[],
  state: ApiKeyState,
  durations: ConcurrencySlotDurations,
  nowSteadyMs: number,
): number[] {
  return concurrencySlots
    .map((concurrencySlot) => computeConcurrencySlotExpiryMs(concurrencySlot, state, durations, nowSteadyMs))
    .filter((endMs) => endMs > nowSteadyMs)
    .sort((one, other) => one - other);
}

/** Whether a concurrency slot expired so long ago that its task can no longer run. */
export function hasLongExpired(
  concurrencySlot: ConcurrencySlot,
  state: ApiKeyState,
  durations: ConcurrencySlotDurations,
  nowSteadyMs: number,
): boolean {
  return (
    computeConcurrencySlotExpiryMs(concurrencySlot, state, durations, nowSteadyMs) <=
    nowSteadyMs - RECOVERY_TIMEOUT_MS
  );
}

/**
 * Returns the concurrency slot of a record after a write. `sinceSteadyMs` changes only if the
 * state changes.
 */
export function deriveConcurrencySlotAfterWrite(
  stored: { readonly concurrencySlot: ConcurrencySlot; readonly status: string | null } | undefined,
  after: { readonly concurrencySlotState: ConcurrencySlotState | null; readonly status: RecordStatus },
  now: { readonly steadyMs: number; readonly owner: ProcessId },
): ConcurrencySlot {
  if (after.concurrencySlotState === null) return NO_CONCURRENCY_SLOT;
  if (stored !== undefined) {
    const hasExpired = stored.concurrencySlot.state === null && stored.concurrencySlot.sinceSteadyMs !== null;
    if (stored.concurrencySlot.state === after.concurrencySlotState) return stored.concurrencySlot;
    if (hasExpired && stored.status === after.status) return stored.concurrencySlot;
  }
  return { state: after.concurrencySlotState, sinceSteadyMs: now.steadyMs, owner: now.owner };
}

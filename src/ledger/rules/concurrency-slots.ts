/** Decides which creates and tasks hold a place in flight, and until when. Pure. */
import type { ProcessId } from "../../process-id.ts";
import { MAX_TASK_LIFETIME_MS } from "../durations.ts";
import type { InFlightState, RecordStatus } from "../record.ts";
import type { ApiKeyState } from "./api-key-state.ts";

/**
 * A place in flight. If the place was freed because its time was over, `state` is `null`, but `sinceSteadyMs` is kept.
 * As long as the record's status does not change, `sinceSteadyMs` keeps later writes of the record from occupying the
 * place again.
 */
export interface InFlightPlace {
  readonly state: InFlightState | null;
  /** The steady-clock time when the place was taken. */
  readonly sinceSteadyMs: number | null;
  readonly owner: ProcessId | null;
}

const NOT_IN_FLIGHT: InFlightPlace = { state: null, sinceSteadyMs: null, owner: null };

export interface InFlightDurations {
  /** How long an unanswered create keeps its place in flight after its process was last seen alive. */
  readonly unansweredInFlightTtlMs: number;
  readonly limitWindowMs: number;
}

/** Returns the time at which a place in flight expires. The place becomes free earlier if its task ends earlier. */
function inFlightExpiryMs(
  { state: inFlightState, sinceSteadyMs, owner }: InFlightPlace,
  { heartbeatSteadyMsByProcess }: ApiKeyState,
  { unansweredInFlightTtlMs, limitWindowMs }: InFlightDurations,
  nowSteadyMs: number,
): number {
  // A date in the future was written before the steady clock restarted. Count from the present time instead.
  const startMs = Math.min(sinceSteadyMs ?? nowSteadyMs, nowSteadyMs);
  if (inFlightState === "accepted") return startMs + MAX_TASK_LIFETIME_MS;
  const seenAtMs = Math.max(
    startMs,
    owner === null ? startMs : (heartbeatSteadyMsByProcess[owner] ?? startMs),
  );
  // Free the place in flight after a maximum time even if heartbeats continue, because a living process may have given
  // up on the create.
  return Math.min(seenAtMs + unansweredInFlightTtlMs, startMs + limitWindowMs + unansweredInFlightTtlMs);
}

/** Returns the times at which the occupied places in flight expire, the soonest first. */
export function listInFlightExpiriesMs(
  places: readonly InFlightPlace[],
  state: ApiKeyState,
  durations: InFlightDurations,
  nowSteadyMs: number,
): number[] {
  return places
    .map((place) => inFlightExpiryMs(place, state, durations, nowSteadyMs))
    .filter((endMs) => endMs > nowSteadyMs)
    .sort((one, other) => one - other);
}

/** Whether a place in flight expired so long ago that its task can no longer run. */
export function hasLongExpired(
  place: InFlightPlace,
  state: ApiKeyState,
  durations: InFlightDurations,
  nowSteadyMs: number,
): boolean {
  return inFlightExpiryMs(place, state, durations, nowSteadyMs) <= nowSteadyMs - MAX_TASK_LIFETIME_MS;
}

/**
 * Returns the place in flight of a record after a write. The date of the place in flight changes only if the
 * state changes.
 */
export function inFlightAfterWrite(
  stored: { readonly place: InFlightPlace; readonly status: string | null } | undefined,
  after: { readonly inFlightState: InFlightState | null; readonly status: RecordStatus },
  now: { readonly steadyMs: number; readonly owner: ProcessId },
): InFlightPlace {
  if (after.inFlightState === null) return NOT_IN_FLIGHT;
  if (stored !== undefined) {
    const hasExpired = stored.place.state === null && stored.place.sinceSteadyMs !== null;
    if (stored.place.state === after.inFlightState) return stored.place;
    if (hasExpired && stored.status === after.status) return stored.place;
  }
  return { state: after.inFlightState, sinceSteadyMs: now.steadyMs, owner: now.owner };
}

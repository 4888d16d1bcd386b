/**
 * The state of one API key: its cooldown, the submissions of the last minute, and the heartbeats of processes. Pure.
 */
import { z } from "zod";
import type { ProcessId } from "../../process-id.ts";
import { RECOVERY_TIMEOUT_MS } from "../durations.ts";

const rateSlotSchema = z.object({
  sendId: z.string(),
  owner: z.string(),
  /** Whether the submission has no outcome yet. */
  isPending: z.boolean(),
  /** The steady-clock time when the slot was taken; later, the time when the outcome of the submission was written. */
  changedSteadyMs: z.number(),
});
type RateSlot = z.infer<typeof rateSlotSchema>;

const stateSchema = z.object({
  /** No submission may be sent until `startedSteadyMs + lengthMs`. */
  cooldown: z.object({ startedSteadyMs: z.number(), lengthMs: z.number() }).nullable(),
  rateSlots: z.array(rateSlotSchema),
  /** The last heartbeat of each process, on the steady clock. */
  heartbeatSteadyMsByProcess: z.record(z.string(), z.number()),
});
export type ApiKeyState = z.infer<typeof stateSchema>;

const EMPTY_STATE: ApiKeyState = { cooldown: null, rateSlots: [], heartbeatSteadyMsByProcess: {} };

/**
 * Parses a stored state. Damaged text counts as an empty state. This is safe, because the service enforces its rate
 * limit itself. Sets each time in the future to now, because such a time was written before the steady clock restarted.
 */
export function parseApiKeyState(text: string, nowSteadyMs: number): ApiKeyState {
  const { cooldown, rateSlots, heartbeatSteadyMsByProcess } = parseState(text);
  const clampToNow = (atMs: number): number => Math.min(atMs, nowSteadyMs);
  return {
    cooldown:
      cooldown === null ? null : { ...cooldown, startedSteadyMs: clampToNow(cooldown.startedSteadyMs) },
    rateSlots: rateSlots.map((rateSlot) => ({
      ...rateSlot,
      changedSteadyMs: clampToNow(rateSlot.changedSteadyMs),
    })),
    heartbeatSteadyMsByProcess: Object.fromEntries(
      Object.entries(heartbeatSteadyMsByProcess).map(([owner, atMs]) => [owner, clampToNow(atMs)]),
    ),
  };
}

function parseState(text: string): ApiKeyState {
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch {
    return EMPTY_STATE;
  }
}

/** Milliseconds until submissions may be sent again; 0 without a cooldown. */
export function computeCooldownLeftMs({ cooldown }: ApiKeyState, nowSteadyMs: number): number {
  return cooldown === null ? 0 : Math.max(0, cooldown.startedSteadyMs + cooldown.lengthMs - nowSteadyMs);
}

/** Starts a cooldown. If a running cooldown ends later, keeps the running cooldown. */
export function withCooldown(state: ApiKeyState, lengthMs: number, nowSteadyMs: number): ApiKeyState {
  return computeCooldownLeftMs(state, nowSteadyMs) >= lengthMs
    ? state
    : { ...state, cooldown: { startedSteadyMs: nowSteadyMs, lengthMs } };
}

/**
 * Returns the time at which the limit window of a rate slot starts. For a pending rate slot, this is the last heartbeat
 * of its owner, because the submission may still be under way.
 */
const computeRateSlotSeenMs = (
  { heartbeatSteadyMsByProcess }: ApiKeyState,
  { owner, isPending, changedSteadyMs }: RateSlot,
): number =>
  isPending
    ? Math.max(changedSteadyMs, heartbeatSteadyMsByProcess[owner] ?? changedSteadyMs)
    : changedSteadyMs;

/** Removes the rate slots whose limit window is over. */
export function withoutOldRateSlots(
  state: ApiKeyState,
  limitWindowMs: number,
  nowSteadyMs: number,
): ApiKeyState {
  return {
    ...state,
    rateSlots: state.rateSlots.filter(
      (rateSlot) => computeRateSlotSeenMs(state, rateSlot) > nowSteadyMs - limitWindowMs,
    ),
  };
}

/**
 * Returns the milliseconds until one more submission fits into the window: 0 if it fits now, and the length of the
 * window if `maxSubmissions` is 0.
 *
 * @param exceptSendId the send that asks for admission. If its admission is repeated, it already has a rate slot, which
 *   is not counted
 */
export function computeRateWaitMs(
  state: ApiKeyState,
  limit: { readonly maxSubmissions: number; readonly limitWindowMs: number; readonly exceptSendId: string },
  nowSteadyMs: number,
): number {
  const { maxSubmissions, limitWindowMs, exceptSendId } = limit;
  if (maxSubmissions < 1) return limitWindowMs;
  const newestFirst = state.rateSlots
    .filter(({ sendId }) => sendId !== exceptSendId)
    .map((rateSlot) => computeRateSlotSeenMs(state, rateSlot))
    .filter((atMs) => atMs > nowSteadyMs - limitWindowMs)
    .sort((one, other) => other - one);
  const blocking = newestFirst[maxSubmissions - 1];
  return blocking === undefined ? 0 : blocking + limitWindowMs - nowSteadyMs;
}

/** Returns whether the send has a rate slot and its outcome is not stored yet. */
export const isRateSlotPending = ({ rateSlots }: ApiKeyState, sendId: string): boolean =>
  rateSlots.some((rateSlot) => rateSlot.sendId === sendId && rateSlot.isPending);

/**
 * Adds a pending rate slot for a send. Returns the same object if the send already has a rate slot. Does not check the
 * rate limit.
 */
export function withRateSlot(
  state: ApiKeyState,
  { sendId, owner }: { readonly sendId: string; readonly owner: ProcessId },
  nowSteadyMs: number,
): ApiKeyState {
  if (state.rateSlots.some((rateSlot) => rateSlot.sendId === sendId)) return state;
  return {
    ...state,
    rateSlots: [...state.rateSlots, { sendId, owner, isPending: true, changedSteadyMs: nowSteadyMs }],
  };
}

/**
 * Whether an admitted submission was sent. If it was sent, its rate slot stays occupied for one limit window after the
 * outcome is stored. If it was not sent, its rate slot is freed at once.
 */
export interface SendOutcome {
  readonly sendId: string;
  readonly outcome: "sent" | "unsent";
}

/** Applies the outcome of a send to its pending rate slot. Leaves a rate slot that is not pending unchanged. */
export function withSendOutcome(
  state: ApiKeyState,
  { sendId, outcome }: SendOutcome,
  nowSteadyMs: number,
): ApiKeyState {
  if (!isRateSlotPending(state, sendId)) return state;
  const rateSlots =
    outcome === "unsent"
      ? state.rateSlots.filter((rateSlot) => rateSlot.sendId !== sendId)
      : state.rateSlots.map((rateSlot) =>
          rateSlot.sendId === sendId
            ? { ...rateSlot, isPending: false, changedSteadyMs: nowSteadyMs }
            : rateSlot,
        );
  return { ...state, rateSlots };
}

/**
 * Records that a process is alive. Removes processes whose last heartbeat is older than the longest time that a task
 * can run.
 */
export function withHeartbeat(state: ApiKeyState, owner: ProcessId, nowSteadyMs: number): ApiKeyState {
  const recent = Object.entries(state.heartbeatSteadyMsByProcess).filter(
    ([, atMs]) => atMs > nowSteadyMs - RECOVERY_TIMEOUT_MS,
  );
  return { ...state, heartbeatSteadyMsByProcess: { ...Object.fromEntries(recent), [owner]: nowSteadyMs } };
}

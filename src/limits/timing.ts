/** Computes all durations that the limits use. Tests scale these durations down. */
import { LIMIT_WINDOW_SECONDS } from "../contract/service-limits.ts";

/** Durations in milliseconds, measured with `Clock.steadyMs`. */
export interface LimitTiming {
  readonly limitWindowMs: number;
  /** How long an unresolved submission keeps its concurrency slot after the last heartbeat of its process. */
  readonly unresolvedSlotTtlMs: number;
  readonly heartbeatMs: number;
  /** The interval at which the submission queue requests admission while no concurrency slot is free. */
  readonly concurrencySlotPollMs: number;
}

const UNRESOLVED_SLOT_TTL_SECONDS = 30;
/**
 * Minimum time for which an unresolved submission keeps its concurrency slot, at any time scale. On a busy machine, a
 * shorter time could end before the next heartbeat. Another process would then get the slot of a submission in
 * progress.
 */
const MIN_UNRESOLVED_SLOT_TTL_MS = 3_000;
const HEARTBEAT_MS = 5_000;
const CONCURRENCY_SLOT_POLL_MS = 250;
/**
 * Margin that is added to the limit window, because client and service round their clocks to milliseconds differently.
 */
const MARGIN_MS = 20;

/**
 * Returns all durations for a time scale. Scaled durations have minimums, because very short timers are not exact.
 *
 * @param timeScale 0.001 to 1
 */
export function buildLimitTiming(timeScale: number): LimitTiming {
  const heartbeatMs = Math.max(50, HEARTBEAT_MS * timeScale);
  return {
    limitWindowMs: LIMIT_WINDOW_SECONDS * 1000 * timeScale + Math.max(3, MARGIN_MS * timeScale),
    unresolvedSlotTtlMs: Math.max(MIN_UNRESOLVED_SLOT_TTL_MS, UNRESOLVED_SLOT_TTL_SECONDS * 1000 * timeScale),
    heartbeatMs,
    concurrencySlotPollMs: Math.max(20, CONCURRENCY_SLOT_POLL_MS * timeScale),
  };
}

/** The budget's window. It uses the wall clock and is never scaled, because it concerns money. */
export const BUDGET_WINDOW_MS = 24 * 60 * 60 * 1000;

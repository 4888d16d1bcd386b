/** Every duration of the limits, scaled for tests. */
import { LIMIT_WINDOW_SECONDS } from "../contract/service-limits.ts";

/** All in milliseconds of this process's steady clock. */
export interface LimitTiming {
  readonly windowMs: number;
  /** How long an unanswered create's in-flight slot outlives the last sign of life of its process. */
  readonly lapseMs: number;
  readonly heartbeatMs: number;
  /** Interval at which a job asks again while it waits for another process's task to end. */
  readonly inFlightPollMs: number;
}

const LAPSE_SECONDS = 30;
const HEARTBEAT_MS = 5_000;
const IN_FLIGHT_POLL_MS = 250;
/** Clocks are read in milliseconds, and differently on both sides: windows end this much later than they must. */
const MARGIN_MS = 20;

/** @param timeScale 0.001 to 1; minimums keep the intervals within the precision of timers */
export function limitTiming(timeScale: number): LimitTiming {
  const heartbeatMs = Math.max(50, HEARTBEAT_MS * timeScale);
  return {
    windowMs: LIMIT_WINDOW_SECONDS * 1000 * timeScale + Math.max(3, MARGIN_MS * timeScale),
    lapseMs: Math.max(LAPSE_SECONDS * 1000 * timeScale, 6 * heartbeatMs),
    heartbeatMs,
    inFlightPollMs: Math.max(20, IN_FLIGHT_POLL_MS * timeScale),
  };
}

/** The budget's window runs on the wall clock and is never scaled: it is about money. */
export const BUDGET_WINDOW_MS = 24 * 60 * 60 * 1000;

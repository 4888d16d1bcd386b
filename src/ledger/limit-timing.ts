/** Computes the durations of the service's limits and of leases. Tests scale them down. */
import {
  LIMIT_WINDOW_SECONDS,
  READS_PER_WINDOW,
  RECOVERY_WINDOW_SECONDS,
} from "../contract/service-limits.ts";

/** Durations in milliseconds, on the steady clock. */
export interface LimitTiming {
  readonly windowMs: number;
  /** How long an unanswered send takes one of the two concurrency slots after its driver was last seen alive. */
  readonly unansweredSlotMs: number;
  /** How long an accepted task can take a concurrency slot. */
  readonly acceptedSlotMs: number;
  /** The longest time after which a waiting submission asks again, because nothing tells when others end. */
  readonly maxRetryMs: number;
}

const UNANSWERED_SLOT_MS = 30_000;
/** On a busy machine, a shorter time could end while the send is under way. */
const MIN_UNANSWERED_SLOT_MS = 3_000;
const MAX_RETRY_MS = 1_000;
/** Client and service round their clocks to milliseconds differently. */
const MARGIN_MS = 20;

/**
 * Returns the durations for a time scale.
 *
 * @param timeScale 0.001 to 1; very short durations have minimums, because short timers are not exact
 */
export function buildLimitTiming(timeScale: number): LimitTiming {
  return {
    windowMs: LIMIT_WINDOW_SECONDS * 1000 * timeScale + Math.max(3, MARGIN_MS * timeScale),
    unansweredSlotMs: Math.max(MIN_UNANSWERED_SLOT_MS, UNANSWERED_SLOT_MS * timeScale),
    acceptedSlotMs: RECOVERY_TIMEOUT_MS,
    maxRetryMs: Math.max(20, MAX_RETRY_MS * timeScale),
  };
}

/** Polls slow down only above this number of used reads. */
const READS_BEFORE_SLOWING = READS_PER_WINDOW / 2;
/** The reads reserved for downloads and explicit queries. */
const RESERVED_READS = 8;
/** The fewest polls in a window once polls have slowed down. */
const MIN_SLOWED_POLLS = 8;

/** The most reads in a window that polls may use. */
export const MAX_POLLS = READS_PER_WINDOW - RESERVED_READS;

/** Returns the milliseconds between two polls of an account: 0 until half of the reads of a window are used. */
export function computePollSpacingMs(usedReads: number, windowMs: number): number {
  if (usedReads <= READS_BEFORE_SLOWING) return 0;
  return windowMs / Math.max(MIN_SLOWED_POLLS, MAX_POLLS - usedReads);
}

/**
 * The longest time for which a submission or a task is tracked: the 60 minutes in which the service may finish a task,
 * and a margin of 5 minutes. After this time, concurrency slots are freed, and retries end.
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

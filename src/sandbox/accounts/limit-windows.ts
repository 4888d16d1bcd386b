/** Enforces the limits per minute (docs/contract.md, Limits) with a sliding window per account. */
import {
  LIMIT_WINDOW_SECONDS,
  READS_PER_WINDOW,
  SUBMISSIONS_PER_WINDOW,
} from "../../contract/service-limits.ts";
import type { SandboxClock } from "../clock.ts";

/**
 * Admits at most `limit` requests of each account in any `windowMs` milliseconds. Stores at most `limit` timestamps for
 * each account.
 */
class SlidingWindow {
  readonly #admitted = new Map<string, number[]>();
  readonly #limit: number;
  readonly #windowMs: number;

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /**
   * Admits a request if the account is below its limit. Returns whether the request was admitted. Refused requests do
   * not count.
   */
  admit(accountId: string, nowMs: number): boolean {
    const recent = (this.#admitted.get(accountId) ?? []).filter(
      (instant) => nowMs - instant < this.#windowMs,
    );
    const admitted = recent.length < this.#limit;
    if (admitted) recent.push(nowMs);
    this.#admitted.set(accountId, recent);
    return admitted;
  }
}

export interface AccountLimitsOptions {
  readonly clock: SandboxClock;
  /**
   * Factor for the length of the limit windows of submissions and reads, from 0.001 to 1. At factor 1, a limit window
   * is 60 s long.
   */
  readonly timeScale: number;
  readonly isEnforced: boolean;
}

/**
 * Limits the submissions and the reads of each account, in separate windows. The requests of all keys of an account
 * count together.
 */
export class AccountLimits {
  readonly #submissions: SlidingWindow;
  readonly #reads: SlidingWindow;
  readonly #clock: SandboxClock;
  readonly #isEnforced: boolean;

  constructor({ clock, timeScale, isEnforced }: AccountLimitsOptions) {
    const windowMs = LIMIT_WINDOW_SECONDS * 1000 * timeScale;
    this.#submissions = new SlidingWindow(SUBMISSIONS_PER_WINDOW, windowMs);
    this.#reads = new SlidingWindow(READS_PER_WINDOW, windowMs);
    this.#clock = clock;
    this.#isEnforced = isEnforced;
  }

  admitSubmission(accountId: string): boolean {
    return !this.#isEnforced || this.#submissions.admit(accountId, this.#clock.steadyMs());
  }

  /** Queries and downloads share one window. */
  admitRead(accountId: string): boolean {
    return !this.#isEnforced || this.#reads.admit(accountId, this.#clock.steadyMs());
  }
}

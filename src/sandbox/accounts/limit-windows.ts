/** Enforces the limits per minute (docs/contract.md, Limits) with a sliding window per account. */
import {
  LIMIT_WINDOW_SECONDS,
  READS_PER_WINDOW,
  SUBMISSIONS_PER_WINDOW,
} from "../../contract/service-limits.ts";
import type { SandboxClock } from "../clock.ts";

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
  /** The times of admission in the last window, by kind of request and account. */
  readonly #admittedMs = new Map<string, number[]>();
  readonly #windowMs: number;
  readonly #options: AccountLimitsOptions;

  constructor(options: AccountLimitsOptions) {
    this.#options = options;
    this.#windowMs = LIMIT_WINDOW_SECONDS * 1000 * options.timeScale;
  }

  admitSubmission(accountId: string): boolean {
    return this.#admit(`submission ${accountId}`, SUBMISSIONS_PER_WINDOW);
  }

  /** Queries and downloads share one window. */
  admitRead(accountId: string): boolean {
    return this.#admit(`read ${accountId}`, READS_PER_WINDOW);
  }

  /** Admits a request if fewer than `limit` of its key are in the window. Refused requests do not count. */
  #admit(key: string, limit: number): boolean {
    if (!this.#options.isEnforced) return true;
    const nowMs = this.#options.clock.steadyMs();
    const recent = (this.#admittedMs.get(key) ?? []).filter((instant) => nowMs - instant < this.#windowMs);
    const isAdmitted = recent.length < limit;
    if (isAdmitted) recent.push(nowMs);
    this.#admittedMs.set(key, recent);
    return isAdmitted;
  }
}

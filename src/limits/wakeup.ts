/** Sleeps for a given time, or until another part of the process signals. */
import type { Clock } from "../clock.ts";

/** Never loses a signal: a signal that arrives while nothing sleeps ends the next sleep at once. */
export class Wakeup {
  readonly #clock: Clock;
  #sleeper: AbortController | undefined;
  #isSignalled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  signal(): void {
    this.#isSignalled = true;
    this.#sleeper?.abort();
  }

  /** Clears earlier signals. Directly after this call, check for the changes that the signals announced. */
  reset(): void {
    this.#isSignalled = false;
  }

  /** Sleeps for `ms` milliseconds, or until {@link signal} is called. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isSignalled) {
      const sleeper = new AbortController();
      this.#sleeper = sleeper;
      try {
        await this.#clock.sleep(ms, sleeper.signal);
      } catch (error) {
        if (!sleeper.signal.aborted) throw error;
      } finally {
        this.#sleeper = undefined;
      }
    }
    this.#isSignalled = false;
  }
}

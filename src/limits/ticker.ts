/** Calls a function at intervals, and stops by itself as soon as the function is not needed. */
import type { Clock } from "../clock.ts";

export interface TickerOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly isNeeded: () => boolean;
  /** Must not reject. */
  readonly tick: () => Promise<void>;
}

/**
 * Calls `tick` again and again while `isNeeded` returns true, and sleeps for `intervalMs` before each call.
 * {@link Ticker.start} starts a ticker that has stopped by itself, but not one that was closed.
 */
export class Ticker {
  readonly #options: TickerOptions;
  readonly #stop = new AbortController();
  #isRunning = false;

  constructor(options: TickerOptions) {
    this.#options = options;
  }

  /** Starts the loop unless it is running. The loop ends by itself when it is no longer needed. */
  start(): void {
    if (this.#isRunning || this.#stop.signal.aborted) return;
    this.#isRunning = true;
    void this.#loop();
  }

  close(): void {
    this.#stop.abort();
  }

  async #loop(): Promise<void> {
    const { clock, intervalMs, isNeeded, tick } = this.#options;
    for (;;) {
      try {
        await clock.sleep(intervalMs, this.#stop.signal);
      } catch {
        return;
      }
      if (!isNeeded()) {
        this.#isRunning = false;
        return;
      }
      await tick();
    }
  }
}

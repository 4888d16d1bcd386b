/** Writes facts to the store, and tries failed writes again until they succeed. */
import type { Clock } from "../clock.ts";
import { describeCause, type Log } from "../log.ts";
import { Ticker } from "./ticker.ts";

export interface PendingWritesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly retryIntervalMs: number;
}

/**
 * Writes facts to the store, and repeats each failed write at an interval until it succeeds. When the process ends, the
 * facts that are not stored yet are lost.
 */
export class PendingWrites {
  readonly #log: Log;
  readonly #failedWrites = new Set<() => Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  readonly #retryTicker: Ticker;

  constructor({ clock, log, retryIntervalMs }: PendingWritesOptions) {
    this.#log = log;
    this.#retryTicker = new Ticker({
      clock,
      intervalMs: retryIntervalMs,
      isNeeded: () => this.#failedWrites.size > 0,
      tick: () => this.#retry(),
    });
  }

  /**
   * Writes a fact to the store. Resolves after the first try, even if it fails, and never rejects. So the calling code
   * must not assume that the fact is stored. A failed write is tried again at intervals, until it succeeds or the
   * process closes. Use this only where the calling code could do nothing about an error.
   *
   * @param what the fact, for the log
   */
  writeNowOrLater(what: string, write: () => Promise<unknown>): Promise<void> {
    const tryOnce = async (): Promise<void> => {
      try {
        await write();
      } catch (error) {
        this.#log.warn(`${what} could not be sent to the store yet`, error);
        this.#failedWrites.add(async () => void (await write()));
        this.#retryTicker.start();
      }
    };
    const firstTry = tryOnce();
    this.#running.add(firstTry);
    return firstTry.finally(() => this.#running.delete(firstTry));
  }

  /** Stops the retries. Resolves once all writes that have begun are done. */
  async close(): Promise<void> {
    this.#retryTicker.close();
    await Promise.allSettled([...this.#running]);
  }

  async #retry(): Promise<void> {
    // Catch the error of each write separately, because a write that always fails must not block the others.
    for (const write of [...this.#failedWrites]) {
      try {
        await write();
        this.#failedWrites.delete(write);
      } catch (error) {
        this.#log.debug(`still not written to the store: ${describeCause(error)}`);
      }
    }
  }
}

/** Owns signs of life while something is pending, and reports to the store that failed at first; admits nothing. */
import type { Clock } from "../clock.ts";
import { describeCause, type Log } from "../log.ts";

export interface HousekeepingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly intervalMs: number;
  readonly heartbeat: () => Promise<void>;
}

/**
 * Runs one loop, and only while {@link Housekeeping.watch}ed things are pending or reports are owed. A slot
 * whose settling is still owed stays pending, which blocks rather than frees: the safe side.
 */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #stop = new AbortController();
  readonly #pending = new Set<string>();
  /** Steady-clock milliseconds at which something stops being watched by itself. */
  readonly #watchedUntilMs = new Map<string, number>();
  readonly #owed = new Set<() => Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  #isLooping = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  /** `name` is pending: until unwatched, or for `forMs` at most. */
  watch(name: string, forMs?: number): void {
    this.#pending.add(name);
    if (forMs === undefined) this.#watchedUntilMs.delete(name);
    else this.#watchedUntilMs.set(name, this.#options.clock.steadyMs() + forMs);
    this.#start();
  }

  unwatch(name: string): void {
    this.#pending.delete(name);
    this.#watchedUntilMs.delete(name);
  }

  isWatched(name: string): boolean {
    return this.#pending.has(name);
  }

  /** Tells the store something that no caller can do anything about; again with each sign of life until it took. */
  report(what: string, tell: () => Promise<void>): Promise<void> {
    const attempt = async (): Promise<void> => {
      try {
        await tell();
      } catch (error) {
        this.#options.log.warn(`${what} could not be told to the store yet`, error);
        this.#owed.add(tell);
        this.#start();
      }
    };
    const run = attempt();
    this.#running.add(run);
    return run.finally(() => this.#running.delete(run));
  }

  /** Ends the loop after the reports that are under way. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([...this.#running]);
  }

  #start(): void {
    if (this.#isLooping || this.#stop.signal.aborted) return;
    this.#isLooping = true;
    void this.#loop();
  }

  async #loop(): Promise<void> {
    const { clock, intervalMs, log } = this.#options;
    for (;;) {
      try {
        await clock.sleep(intervalMs, this.#stop.signal);
      } catch {
        return;
      }
      this.#dropOutlived();
      if (this.#pending.size === 0 && this.#owed.size === 0) {
        this.#isLooping = false;
        return;
      }
      try {
        for (const tell of [...this.#owed]) {
          await tell();
          this.#owed.delete(tell);
        }
        if (this.#pending.size > 0) await this.#options.heartbeat();
      } catch (error) {
        log.debug(`the store is still away: ${describeCause(error)}`);
      }
    }
  }

  #dropOutlived(): void {
    const nowMs = this.#options.clock.steadyMs();
    for (const [name, untilMs] of this.#watchedUntilMs) if (untilMs <= nowMs) this.unwatch(name);
  }
}

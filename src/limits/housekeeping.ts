/** Signs of life while something is pending or leased, and reports to the store that failed at first. */
import type { Clock } from "../clock.ts";
import { describeCause, type Log } from "../log.ts";
import { Ticker } from "./ticker.ts";

export interface HousekeepingOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Between signs of life while requests are pending. */
  readonly heartbeatMs: number;
  /** Between renewals of leases; every write of a record renews its lease, too. */
  readonly renewalMs: number;
  /** Keeps what is pending, and these leases; names the leases that are another process's by now. */
  readonly heartbeat: (recordIds: readonly string[]) => Promise<readonly string[]>;
}

/** A slot that was not released yet stays pending. That blocks a create rather than allowing one too many. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #pending = new Set<string>();
  readonly #leases = new Map<string, () => void>();
  readonly #owed = new Set<() => Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  readonly #heartbeat: Ticker;
  readonly #renewal: Ticker;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    const { clock, heartbeatMs, renewalMs } = options;
    this.#heartbeat = new Ticker({
      clock,
      intervalMs: heartbeatMs,
      isNeeded: () => this.#pending.size > 0 || this.#owed.size > 0,
      tick: () => this.#beat(),
    });
    this.#renewal = new Ticker({
      clock,
      intervalMs: renewalMs,
      isNeeded: () => this.#leases.size > 0,
      tick: () => this.#giveSignOfLife(),
    });
  }

  /** A slot is pending until it is unwatched. */
  watch(slotId: string): void {
    this.#pending.add(slotId);
    this.#heartbeat.start();
  }

  unwatch(slotId: string): void {
    this.#pending.delete(slotId);
  }

  /** Renews a lease. Calls `onLost` when another process takes it and drives the record. */
  keepLease(recordId: string, onLost: () => void): void {
    this.#leases.set(recordId, onLost);
    this.#renewal.start();
  }

  dropLease(recordId: string): void {
    this.#leases.delete(recordId);
  }

  /** Writes to the store what no caller can act on; retries with each heartbeat until it succeeds. */
  report(what: string, tell: () => Promise<unknown>): Promise<void> {
    const attempt = async (): Promise<void> => {
      try {
        await tell();
      } catch (error) {
        this.#options.log.warn(`${what} could not be told to the store yet`, error);
        this.#owed.add(async () => void (await tell()));
        this.#heartbeat.start();
      }
    };
    const run = attempt();
    this.#running.add(run);
    return run.finally(() => this.#running.delete(run));
  }

  /** Ends after the reports that are under way. */
  async close(): Promise<void> {
    this.#heartbeat.close();
    this.#renewal.close();
    await Promise.allSettled([...this.#running]);
  }

  async #beat(): Promise<void> {
    // Each is written on its own, because one that never succeeds must not block the others or the heartbeat.
    for (const tell of [...this.#owed]) {
      try {
        await tell();
        this.#owed.delete(tell);
      } catch (error) {
        this.#options.log.debug(`still owed to the store: ${describeCause(error)}`);
      }
    }
    if (this.#pending.size > 0) await this.#giveSignOfLife();
  }

  async #giveSignOfLife(): Promise<void> {
    const held = [...this.#leases.keys()];
    try {
      for (const recordId of await this.#options.heartbeat(held)) {
        const onLost = this.#leases.get(recordId);
        this.#leases.delete(recordId);
        onLost?.();
      }
    } catch (error) {
      this.#options.log.debug(`the store is still away: ${describeCause(error)}`);
    }
  }
}

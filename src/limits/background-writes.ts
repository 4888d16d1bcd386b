/** Sends heartbeats while rate slots are pending or leases are held, and retries failed writes to the store. */
import type { Clock } from "../clock.ts";
import { describeCause, type Log } from "../log.ts";
import { Ticker } from "./ticker.ts";

export interface BackgroundWritesOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The time between heartbeats while creates are pending, and between retries of failed writes. */
  readonly heartbeatMs: number;
  /** The time between renewals of leases. Every write of a record renews its lease, too. */
  readonly renewalMs: number;
  /** Renews pending rate slots and the given leases. Returns the leases that another process has acquired. */
  readonly heartbeat: (recordIds: readonly string[]) => Promise<readonly string[]>;
}

/**
 * A rate slot stays pending until the store knows how its create ended, because it is safer to block a rate slot too
 * long than to free it too early.
 */
export class BackgroundWrites {
  readonly #options: BackgroundWritesOptions;
  readonly #pending = new Set<string>();
  readonly #leases = new Map<string, () => void>();
  readonly #unwritten = new Set<() => Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  readonly #pendingTicker: Ticker;
  readonly #renewalTicker: Ticker;

  constructor(options: BackgroundWritesOptions) {
    this.#options = options;
    const { clock, heartbeatMs, renewalMs } = options;
    this.#pendingTicker = new Ticker({
      clock,
      intervalMs: heartbeatMs,
      isNeeded: () => this.#pending.size > 0 || this.#unwritten.size > 0,
      tick: () => this.#retryAndRenew(),
    });
    this.#renewalTicker = new Ticker({
      clock,
      intervalMs: renewalMs,
      isNeeded: () => this.#leases.size > 0,
      tick: () => this.#renew(),
    });
  }

  /** Marks a create as pending, so that heartbeats are sent for it until {@link clearPending}. */
  markPending(sendId: string): void {
    this.#pending.add(sendId);
    this.#pendingTicker.start();
  }

  /** Marks the create of an admission as ended, with or without success, so that it needs no further heartbeats. */
  clearPending(sendId: string): void {
    this.#pending.delete(sendId);
  }

  /** Renews a lease. Calls `onLost` when another process has acquired it and drives the record. */
  startRenewingLease(recordId: string, onLost: () => void): void {
    this.#leases.set(recordId, onLost);
    this.#renewalTicker.start();
  }

  stopRenewingLease(recordId: string): void {
    this.#leases.delete(recordId);
  }

  /**
   * Writes a fact to the store. Resolves after the first try, even if it fails, and never rejects. So the calling code
   * must not assume that the fact is stored. A failed write is tried again at each heartbeat, until it succeeds or the
   * process closes. Use this only where the calling code could do nothing about an error.
   */
  writeNowOrLater(what: string, write: () => Promise<unknown>): Promise<void> {
    const tryOnce = async (): Promise<void> => {
      try {
        await write();
      } catch (error) {
        this.#options.log.warn(`${what} could not be sent to the store yet`, error);
        this.#unwritten.add(async () => void (await write()));
        this.#pendingTicker.start();
      }
    };
    const run = tryOnce();
    this.#running.add(run);
    return run.finally(() => this.#running.delete(run));
  }

  /** Stops the heartbeats. Resolves once all writes that have begun are done. */
  async close(): Promise<void> {
    this.#pendingTicker.close();
    this.#renewalTicker.close();
    await Promise.allSettled([...this.#running]);
  }

  async #retryAndRenew(): Promise<void> {
    // Catch the error of each write separately, because a write that always fails must not block the others or the
    // heartbeat.
    for (const write of [...this.#unwritten]) {
      try {
        await write();
        this.#unwritten.delete(write);
      } catch (error) {
        this.#options.log.debug(`still not written to the store: ${describeCause(error)}`);
      }
    }
    if (this.#pending.size > 0) await this.#renew();
  }

  async #renew(): Promise<void> {
    const leased = [...this.#leases.keys()];
    try {
      for (const recordId of await this.#options.heartbeat(leased)) {
        const onLost = this.#leases.get(recordId);
        this.#leases.delete(recordId);
        onLost?.();
      }
    } catch (error) {
      this.#options.log.debug(`the store is still away: ${describeCause(error)}`);
    }
  }
}

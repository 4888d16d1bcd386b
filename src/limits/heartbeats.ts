/** Sends heartbeats while rate slots are pending, and renews the leases of this process's jobs. */
import type { Clock } from "../clock.ts";
import { describeCause, type Log } from "../log.ts";
import { Ticker } from "./ticker.ts";

export interface HeartbeatsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The time between heartbeats while submissions are pending. */
  readonly heartbeatMs: number;
  /** The time between renewals of leases. Every write of a record renews its lease, too. */
  readonly renewalMs: number;
  /**
   * Renews pending rate slots and the leases of the given records. Returns the ids of the records whose lease is lost.
   */
  readonly heartbeat: (recordIds: readonly string[]) => Promise<readonly string[]>;
}

/**
 * Renews the leases of this process, and the rate slots of its submissions until the store knows how they ended. Blocking
 * a slot for too long is safer than freeing it too early.
 */
export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #pendingSends = new Set<string>();
  readonly #leases = new Map<string, () => void>();
  readonly #pendingTicker: Ticker;
  readonly #leaseTicker: Ticker;

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
    const { clock, heartbeatMs, renewalMs } = options;
    this.#pendingTicker = new Ticker({
      clock,
      intervalMs: heartbeatMs,
      isNeeded: () => this.#pendingSends.size > 0,
      tick: () => this.#renew(),
    });
    this.#leaseTicker = new Ticker({
      clock,
      intervalMs: renewalMs,
      isNeeded: () => this.#leases.size > 0,
      tick: () => this.#renew(),
    });
  }

  /** Marks a submission as pending, so that heartbeats are sent for it until {@link clearPending}. */
  markPending(sendId: string): void {
    this.#pendingSends.add(sendId);
    this.#pendingTicker.start();
  }

  /** Marks a submission as ended, with or without success. It then needs no further heartbeats. */
  clearPending(sendId: string): void {
    this.#pendingSends.delete(sendId);
  }

  /**
   * Renews a lease at intervals until {@link stopRenewingLease}. Calls `onLost` when another process has acquired the
   * lease and drives the record.
   */
  startRenewingLease(recordId: string, onLost: () => void): void {
    this.#leases.set(recordId, onLost);
    this.#leaseTicker.start();
  }

  stopRenewingLease(recordId: string): void {
    this.#leases.delete(recordId);
  }

  close(): void {
    this.#pendingTicker.close();
    this.#leaseTicker.close();
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
      this.#options.log.debug(`the store cannot be reached: ${describeCause(error)}`);
    }
  }
}

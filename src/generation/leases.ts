/** Owns this process's leases: taking, renewing, giving back; knows not what they guard. Leases only save work: the idempotency key guards the money. */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import { isHolderGone } from "../holder.ts";
import type { Coordinator, HolderId } from "../ledger/coordinator.ts";
import type { Log } from "../log.ts";

export class Leases {
  readonly #held = new Set<string>();
  readonly #coordinator: Coordinator;
  readonly #holder: HolderId;
  readonly #ttlMs: number;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;

  constructor(coordinator: Coordinator, holder: HolderId, ttlMs: number, log: Log) {
    this.#coordinator = coordinator;
    this.#holder = holder;
    this.#ttlMs = ttlMs;
    this.#log = log;
  }

  /** Whether this process has the lease now. One whose holder is a dead process of this machine is taken over at once. */
  async take(name: string): Promise<boolean> {
    const first = await this.#coordinator.acquireLease(name, this.#holder, this.#ttlMs);
    const taken = first.acquired || (await this.#takeFromTheDead(name, first.holder));
    if (taken) {
      this.#held.add(name);
      this.#timer ??= setInterval(() => void this.#renew(), this.#ttlMs / 3).unref();
    }
    return taken;
  }

  async #takeFromTheDead(name: string, previous: HolderId): Promise<boolean> {
    if (!isHolderGone(previous)) return false;
    const second = await this.#coordinator.acquireLease(name, this.#holder, this.#ttlMs, previous);
    return second.acquired;
  }

  /** Never fails: a lease that cannot be given back lapses by itself. */
  async release(name: string): Promise<void> {
    this.#held.delete(name);
    try {
      await this.#coordinator.releaseLease(name, this.#holder);
    } catch (cause) {
      this.#log.warn("a lease could not be given back", cause);
    }
  }

  /**
   * Runs short work under a lease, waiting while another process has it: no longer than it takes a dead
   * holder's lease to lapse, and then some.
   */
  async under<T>(name: string, clock: Clock, work: () => Promise<T>): Promise<T> {
    const POLL_MS = 10;
    const giveUpAtMs = clock.steadyMs() + 2 * this.#ttlMs;
    while (!(await this.take(name))) {
      if (clock.steadyMs() > giveUpAtMs) {
        throw new AudioError("store_unavailable", "The ledger stayed busy with the same record.", {
          retryable: true,
        });
      }
      await clock.sleep(POLL_MS);
    }
    try {
      return await work();
    } finally {
      await this.release(name);
    }
  }

  async #renew(): Promise<void> {
    for (const name of this.#held) {
      try {
        await this.#coordinator.acquireLease(name, this.#holder, this.#ttlMs);
      } catch (cause) {
        this.#log.warn("a lease could not be renewed", cause);
      }
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const name of [...this.#held]) await this.release(name);
  }
}

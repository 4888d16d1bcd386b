/** One process's right to drive a narration: waited for, kept, looked at before anything is sent, and given back. */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { ProcessId } from "../process-id.ts";
import { leftByOthers } from "./askers.ts";
import type { NarrationRepository } from "./narration-repository.ts";
import type { NarrationState } from "./narration-state.ts";

/** How often the lease is renewed and the ledger is asked what other processes have changed. */
const LOOK_MS = 1000;

export interface NarrationLeaseDeps {
  readonly book: NarrationRepository;
  readonly clock: Clock;
  readonly log: Log;
  readonly processId: ProcessId;
  readonly leaseTtlMs: number;
}

export class NarrationLease {
  readonly #deps: NarrationLeaseDeps;
  readonly #narrationId: string;

  constructor(deps: NarrationLeaseDeps, narrationId: string) {
    this.#deps = deps;
    this.#narrationId = narrationId;
  }

  /**
   * Waits for the lease as long as the narration is wanted: its driver may die, or end it just now.
   *
   * @param signal aborts when nobody here waits any more
   * @returns `false`: this process does not drive it
   */
  async take(signal: AbortSignal): Promise<boolean> {
    const { book, clock, processId } = this.#deps;
    for (let hasWaited = false; ; hasWaited = true) {
      if (await this.#renew()) {
        // Requests of the previous lease owner ended with that process.
        if (hasWaited) await book.change(this.#narrationId, (before) => leftByOthers(before, processId));
        return true;
      }
      if ((await book.entry(this.#narrationId)).state.status !== "running") return false;
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      if (signal.aborted) return false;
    }
  }

  /** Renews the lease. @returns the state; `null`: another process has the lease */
  async look(): Promise<NarrationState | null> {
    return (await this.#renew()) ? (await this.#deps.book.entry(this.#narrationId)).state : null;
  }

  /** Calls `look` again and again, until the signal aborts; a ledger that is away is asked again. */
  async keep(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, leaseTtlMs, log } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(Math.min(leaseTtlMs / 3, LOOK_MS), signal).catch(() => undefined);
      if (signal.aborted) return;
      await look().catch((error: unknown) =>
        log.debug(`the lease of a narration could not be renewed: ${String(error)}`),
      );
    }
  }

  /** It lapses by itself where it cannot be given back. */
  async release(): Promise<void> {
    const { book, log } = this.#deps;
    await book.release(this.#narrationId).catch((cause: unknown) => log.debug(String(cause)));
  }

  async #renew(): Promise<boolean> {
    const { book, processId, leaseTtlMs } = this.#deps;
    return await book.acquireLease(this.#narrationId, processId, leaseTtlMs);
  }
}

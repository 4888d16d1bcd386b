/** Acquires, renews and releases one process's lease of a narration. */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { ProcessId } from "../../process-id.ts";
import { withLocalLiveCallers } from "../state/narration-callers.ts";
import type { NarrationRepository } from "../state/narration-repository.ts";
import type { NarrationState } from "../state/narration-state.ts";

/**
 * Interval at which the lease is renewed and the stored state is read, because other processes may change the state.
 */
const READ_INTERVAL_MS = 1000;

export interface NarrationLeaseDeps {
  readonly repository: NarrationRepository;
  readonly clock: Clock;
  readonly log: Log;
  readonly processId: ProcessId;
  readonly leaseTtlMs: number;
}

/**
 * Acquires, renews and releases the lease of one narration for this process. A lease that is not renewed expires by
 * itself.
 */
export class NarrationLease {
  readonly #deps: NarrationLeaseDeps;
  readonly #narrationId: string;

  constructor(deps: NarrationLeaseDeps, narrationId: string) {
    this.#deps = deps;
    this.#narrationId = narrationId;
  }

  /**
   * Acquires the lease. If another process has the lease, waits until that process ends or the narration no longer
   * runs.
   *
   * @param signal ends the wait
   * @returns `false` if this process did not get the lease
   */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { repository, clock, processId } = this.#deps;
    for (let hasWaited = false; ; hasWaited = true) {
      if (await this.#renew()) {
        // The process that had the lease may have ended. Remove ended processes from `callerProcesses`, because their
        // calls no longer want the narration.
        if (hasWaited)
          await repository.change(this.#narrationId, (before) => withLocalLiveCallers(before, processId));
        return true;
      }
      if ((await repository.getWithoutPlan(this.#narrationId)).state.status !== "running") return false;
      await clock.sleep(READ_INTERVAL_MS, signal).catch(() => undefined);
      if (signal.aborted) return false;
    }
  }

  /**
   * Renews the lease and reads the stored state.
   *
   * @returns `null` if another process has the lease
   */
  async renewAndReadState(): Promise<NarrationState | null> {
    return (await this.#renew())
      ? (await this.#deps.repository.getWithoutPlan(this.#narrationId)).state
      : null;
  }

  /** Calls `renew` at an interval until the signal aborts, even while the ledger is unavailable. */
  async renewAtIntervals(renew: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, leaseTtlMs, log } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(Math.min(leaseTtlMs / 3, READ_INTERVAL_MS), signal).catch(() => undefined);
      if (signal.aborted) return;
      await renew().catch((error: unknown) =>
        log.debug(`the lease of a narration could not be renewed: ${String(error)}`),
      );
    }
  }

  /** Releases the lease. If this fails, the lease expires by itself. */
  async release(): Promise<void> {
    const { repository, log } = this.#deps;
    await repository.releaseLease(this.#narrationId).catch((cause: unknown) => log.debug(String(cause)));
  }

  async #renew(): Promise<boolean> {
    const { repository, processId, leaseTtlMs } = this.#deps;
    return await repository.acquireLease(this.#narrationId, processId, leaseTtlMs);
  }
}

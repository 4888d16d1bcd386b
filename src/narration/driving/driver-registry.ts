/** Keeps the drivers of this process, one for each narration. Lets calls wait for the progress of a narration. */
import { Deadline } from "../../deadline.ts";
import type { Call } from "../../requests/call.ts";
import type { NarrationState } from "../state/narration-state.ts";
import { describeProgress } from "../views/narration-messages.ts";
import { deriveNarrationStatus } from "../views/narration-view.ts";
import { NarrationDriver, type NarrationDriverDeps } from "./narration-driver.ts";

/** Interval at which a call reads a narration that another process drives. */
const FOLLOW_INTERVAL_MS = 1000;

/**
 * Starts and keeps the drivers of this process, at most one for each narration. Forgets a driver when it ends, and
 * starts a new one if the narration still has to be driven. Lets calls wait for a narration, even if another process
 * drives it.
 */
export class DriverRegistry {
  readonly #deps: NarrationDriverDeps;
  readonly #drivers = new Map<string, NarrationDriver>();
  #isClosed = false;

  constructor(deps: NarrationDriverDeps) {
    this.#deps = deps;
  }

  has(narrationId: string): boolean {
    return this.#drivers.has(narrationId);
  }

  /** Passes a changed state to the driver, if there is one. */
  refresh(narrationId: string, state: NarrationState): void {
    this.#drivers.get(narrationId)?.updateState(state);
  }

  /**
   * Starts a driver for the narration, unless this process has one. If another process has the lease, the driver waits
   * for the lease.
   */
  start(narrationId: string): void {
    if (this.#isClosed) return;
    const runningDriver = this.#drivers.get(narrationId);
    if (runningDriver !== undefined) {
      // The running driver may end before it sees the change that this call has stored. So check after its end whether
      // the narration needs a new driver.
      void runningDriver.end
        .then(async () => await this.#startAgain(narrationId))
        .catch((error: unknown) => this.#deps.log.debug(String(error)));
      return;
    }
    const driver = new NarrationDriver(this.#deps, narrationId);
    this.#drivers.set(narrationId, driver);
    void driver.end.then(() => {
      this.#drivers.delete(narrationId);
      // Start a new driver if another process has taken the lease. That process may end before the narration is
      // finished, and the new driver then continues.
      if (driver.hasLostLease) this.start(narrationId);
    });
  }

  async #startAgain(narrationId: string): Promise<void> {
    if (this.has(narrationId) || this.#isClosed) return;
    const { state } = await this.#deps.repository.getWithoutPlan(narrationId);
    if (state.status === "running") this.start(narrationId);
  }

  /** Waits while any process drives the narration, at most until the call's wait ends. */
  async wait(narrationId: string, call: Call): Promise<void> {
    const { repository, clock } = this.#deps;
    const deadline = new Deadline(clock, call.waitMs);
    for (;;) {
      call.signal.throwIfAborted();
      const entry = await repository.getWithoutPlan(narrationId);
      const driver = this.#drivers.get(narrationId);
      if (deriveNarrationStatus(entry) !== "running" && driver === undefined) return;
      const { chargedCredits } = await repository.getBill(narrationId);
      const { savedPartCount, totalPartCount } = entry.state;
      const progress = describeProgress(entry.state, chargedCredits, clock.wallMs());
      call.onProgress(progress, { done: savedPartCount, total: totalPartCount });
      if (deadline.isOver) return;
      await this.#waitForChange(driver, Math.min(FOLLOW_INTERVAL_MS, deadline.leftMs), call.signal);
    }
  }

  /**
   * Resolves at the next change that the driver announces, or after `ms` milliseconds. The time is limited, because a
   * driver in another process does not announce its changes here.
   */
  async #waitForChange(driver: NarrationDriver | undefined, ms: number, signal: AbortSignal): Promise<void> {
    const sleepController = new AbortController();
    const sleeping = this.#deps.clock
      .sleep(ms, AbortSignal.any([signal, sleepController.signal]))
      .catch(() => undefined);
    let stopListening = (): void => undefined;
    const driverChange = new Promise<void>((resolve) => {
      if (driver !== undefined) stopListening = driver.addListener(resolve);
    });
    await Promise.race([sleeping, driverChange]);
    stopListening();
    sleepController.abort();
  }

  /** Ends all drivers without writing to the ledger. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const driver of this.#drivers.values()) driver.stopDriving();
    await Promise.all([...this.#drivers.values()].map(({ end }) => end));
  }
}

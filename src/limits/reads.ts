/** Owns the queue of queries and downloads, with and without the store; knows nothing of creates. */
import type { Clock } from "../clock.ts";
import { READS_PER_WINDOW } from "../contract/limits.ts";
import { AudioError } from "../errors.ts";
import type { AccountId, Coordinator, HolderId } from "../ledger/coordinator.ts";
import type { Log } from "../log.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { LocalPauses } from "./local-pauses.ts";
import { LocalReads } from "./local-reads.ts";
import type { LimitTiming } from "./timing.ts";
import { type Answer, WaitingLine } from "./waiting-line.ts";

/** What one process takes when it cannot ask the others: with four of them, no more than the service allows. */
const READS_ALONE = Math.floor(READS_PER_WINDOW / 4);

export interface ReadsOptions {
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly log: Log;
  readonly accountId: AccountId;
  readonly holder: HolderId;
  readonly timing: LimitTiming;
  readonly pauses: LocalPauses;
  readonly housekeeping: Housekeeping;
}

/** A slot on the store, or `null`: this process's own account. */
type ReadGrant = string | null;

export class Reads {
  readonly #options: ReadsOptions;
  readonly #line: WaitingLine<undefined, ReadGrant, "wait">;
  readonly #local: LocalReads;
  #storeAwayUntilMs = 0;

  constructor(options: ReadsOptions) {
    this.#options = options;
    this.#local = new LocalReads(options.clock, options.timing.windowMs, READS_ALONE);
    this.#line = new WaitingLine({
      clock: options.clock,
      ask: () => this.#ask(),
      failsAll: () => true,
      // Not worth a word to the store: an unused slot counts for one window.
      giveBack: async () => {},
      isUrgent: () => false,
      onWaiting: () => {},
    });
  }

  /** See {@link import("./limits.ts").Limits.read}. */
  async run<T>(signal: AbortSignal, run: (settled: () => void) => Promise<T>): Promise<T> {
    const slotId = await this.#line.enter(undefined, signal);
    if (slotId === null) return run(() => {});
    const { housekeeping, coordinator } = this.#options;
    housekeeping.watch(slotId);
    let isSettled = false;
    const settle = (): void => {
      if (isSettled) return;
      isSettled = true;
      housekeeping.unwatch(slotId);
      // Not waited for: a store that has gone must not hold back an answer that is here.
      void housekeeping.report("the end of a read", () => coordinator.settleRead(slotId));
    };
    try {
      return await run(settle);
    } finally {
      settle();
    }
  }

  dismiss(error: unknown): void {
    this.#line.dismiss(error);
  }

  async #ask(): Promise<Answer<ReadGrant, "wait">> {
    const { clock, coordinator, accountId, holder, timing, pauses } = this.#options;
    const pausedMs = pauses.leftMs("reads");
    if (pausedMs > 0) return { refused: "wait", waitMs: Math.ceil(pausedMs) };
    if (clock.steadyMs() >= this.#storeAwayUntilMs) {
      try {
        const admission = await coordinator.admitRead({
          accountId,
          holder,
          maxReads: READS_PER_WINDOW,
          windowMs: timing.windowMs,
        });
        if (!admission.admitted) return { refused: "wait", waitMs: Math.max(1, Math.ceil(admission.waitMs)) };
        this.#local.note();
        return { granted: admission.slotId };
      } catch (error) {
        this.#noteStoreAway(error);
      }
    }
    const waitMs = this.#local.admit();
    if (waitMs === 0) return { granted: null };
    const untilStoreMs = this.#storeAwayUntilMs - clock.steadyMs();
    return { refused: "wait", waitMs: Math.max(1, Math.ceil(Math.min(waitMs, untilStoreMs))) };
  }

  /** Reads go on without the store, which is asked again after a while; anything else than its loss is thrown on. */
  #noteStoreAway(error: unknown): void {
    if (!(error instanceof AudioError && error.code === "store_unavailable")) throw error;
    const { clock, log, timing } = this.#options;
    log.warn(`without the store, reads are kept to ${READS_ALONE} a minute in this process`, error);
    this.#storeAwayUntilMs = clock.steadyMs() + timing.heartbeatMs;
  }
}

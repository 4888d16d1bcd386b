/** The queues of queries and downloads, and of polls; with the store, and without it. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import { READS_PER_WINDOW } from "../contract/limits.ts";
import { AudioError } from "../errors.ts";
import type { LedgerStore, Settlement } from "../ledger/ledger-store.ts";
import type { Log } from "../log.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { LocalPauses } from "./local-pauses.ts";
import { LocalReads } from "./local-reads.ts";
import { mostPolls, pollGapMs } from "./poll-pace.ts";
import type { LimitTiming } from "./timing.ts";
import { type Answer, WaitingLine } from "./waiting-line.ts";

/** What one process takes when it cannot ask the others: with four of them, no more than the service allows. */
const READS_ALONE = Math.floor(READS_PER_WINDOW / 4);

export interface ReadsOptions {
  readonly store: Pick<LedgerStore, "admitRead" | "settle">;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: LimitTiming;
  readonly pauses: LocalPauses;
  readonly housekeeping: Housekeeping;
}

/** `paused`: the service asked for it; `rate`: all reads of the window are used. */
export type ReadWaitReason = "paused" | "rate";

export interface ReadOptions {
  /** Asked again and again: such reads keep a pace, and leave some of the budget to the others. */
  readonly isPoll?: boolean;
  /** Told each time a wait is learnt, in milliseconds; not of the pace that polls keep. */
  readonly onWaiting?: (reason: ReadWaitReason, waitMs: number) => void;
}

/** The place of one read among those of its window. It counts from its end: of the read, or of what is told with it. */
export interface ReadSlot {
  /** Whoever takes it writes it into the ledger together with what the read brought; otherwise it is told by itself. */
  take(): Settlement | undefined;
}

/** A slot on the store, or `null`: this process's own account. */
type ReadGrant = string | null;
type Reason = ReadWaitReason | "pace";
type Line = WaitingLine<ReadOptions, ReadGrant, Reason>;

export class Reads {
  readonly #options: ReadsOptions;
  readonly #line: Line;
  /** Apart, for polls that wait must not hold back a download. */
  readonly #pollLine: Line;
  readonly #local: LocalReads;
  #storeAwayUntilMs = 0;
  /** Reads that counted in the account's window when the store last admitted one. */
  #usedReads = 0;
  #lastPollMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReadsOptions) {
    this.#options = options;
    this.#local = new LocalReads(options.clock, options.timing.windowMs);
    this.#line = this.#newLine(() => this.#ask(READS_PER_WINDOW, READS_ALONE));
    this.#pollLine = this.#newLine(() => this.#askToPoll());
  }

  /** See {@link import("./limits.ts").Limits.read}. */
  async run<T>(signal: AbortSignal, run: (slot: ReadSlot) => Promise<T>, options: ReadOptions): Promise<T> {
    const slotId = await (options.isPoll === true ? this.#pollLine : this.#line).enter(options, signal);
    if (slotId === null) return run({ take: () => undefined });
    const { housekeeping, store } = this.#options;
    const settlement: Settlement = { limitClass: "reads", slotId, outcome: "counts" };
    housekeeping.watch(slotId);
    let isTaken = false;
    try {
      return await run({
        take: () => {
          isTaken = true;
          return settlement;
        },
      });
    } finally {
      housekeeping.unwatch(slotId);
      // Not waited for: a store that has gone must not hold back an answer that is here.
      if (!isTaken) void housekeeping.report("the end of a read", () => store.settle(settlement));
    }
  }

  dismiss(error: unknown): void {
    this.#line.dismiss(error);
    this.#pollLine.dismiss(error);
  }

  #newLine(ask: () => Promise<Answer<ReadGrant, Reason>>): Line {
    return new WaitingLine({
      clock: this.#options.clock,
      ask,
      failsAll: () => true,
      // Not worth a word to the store: an unused slot counts for one window.
      giveBack: async () => {},
      rank: () => 0,
      onWaiting: ({ onWaiting }, reason, waitMs) => {
        if (reason !== "pace") onWaiting?.(reason, waitMs);
      },
    });
  }

  async #askToPoll(): Promise<Answer<ReadGrant, Reason>> {
    const { clock, timing } = this.#options;
    const { windowMs } = timing;
    const gapMs =
      clock.steadyMs() < this.#storeAwayUntilMs
        ? pollGapMs(this.#local.used, { most: READS_ALONE, windowMs })
        : pollGapMs(this.#usedReads, { most: READS_PER_WINDOW, windowMs });
    const waitMs = this.#lastPollMs + gapMs - clock.steadyMs();
    if (waitMs > 0) return { refused: "pace", waitMs: Math.ceil(waitMs) };
    const answer = await this.#ask(mostPolls(READS_PER_WINDOW), mostPolls(READS_ALONE));
    if ("granted" in answer) this.#lastPollMs = clock.steadyMs();
    return answer;
  }

  async #ask(maxReads: number, maxAlone: number): Promise<Answer<ReadGrant, ReadWaitReason>> {
    const { clock, store, timing, pauses } = this.#options;
    const pausedMs = pauses.leftMs("reads");
    if (pausedMs > 0) return { refused: "paused", waitMs: Math.ceil(pausedMs) };
    if (clock.steadyMs() >= this.#storeAwayUntilMs) {
      try {
        const slotId = randomUUID();
        const admission = await store.admitRead({ slotId, maxReads, windowMs: timing.windowMs });
        if (admission.kind === "held") {
          return { refused: admission.reason, waitMs: Math.max(1, Math.ceil(admission.waitMs)) };
        }
        this.#usedReads = admission.usedReads;
        this.#local.note();
        return { granted: slotId };
      } catch (error) {
        this.#noteStoreAway(error);
      }
    }
    const waitMs = this.#local.admit(maxAlone);
    if (waitMs === 0) return { granted: null };
    const untilStoreMs = this.#storeAwayUntilMs - clock.steadyMs();
    return { refused: "rate", waitMs: Math.max(1, Math.ceil(Math.min(waitMs, untilStoreMs))) };
  }

  /** Reads go on without the store, which is asked again after a while; anything else than its loss is thrown on. */
  #noteStoreAway(error: unknown): void {
    if (!(error instanceof AudioError && error.code === "store_unavailable")) throw error;
    const { clock, log, timing } = this.#options;
    log.warn(`without the store, reads are kept to ${READS_ALONE} a minute in this process`, error);
    this.#storeAwayUntilMs = clock.steadyMs() + timing.heartbeatMs;
  }
}

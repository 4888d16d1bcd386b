/** Decides when requests of one API key may be sent. Uses queues in this process, slots in the ledger, and pauses. */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Log } from "../log.ts";
import { type CreateOrder, type CreateOutcome, Creates } from "./creates.ts";
import { Housekeeping } from "./housekeeping.ts";
import { type LimitClass, LocalPauses } from "./local-pauses.ts";
import { type ReadOptions, Reads } from "./reads.ts";
import { limitTiming } from "./timing.ts";

export type { CreateOutcome, WaitReason } from "./creates.ts";
export type { LimitClass } from "./local-pauses.ts";
export type { ReadOptions, ReadWaitReason } from "./reads.ts";

export interface LimitsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Factor for windows, leases, heartbeats and pauses, but not for the budget's 24 hours; always 1 outside tests.
   */
  readonly timeScale: number;
  /** Maximum number of credits that are reserved or charged in any 24 hours; `null` without a budget. */
  readonly creditBudget: number | null;
}

/** Credits that are reserved or charged. */
export interface Spending {
  /** Credits since midnight of this machine's time zone. */
  readonly today: number;
  readonly last7Days: number;
  readonly last30Days: number;
  /** The budget for any 24 hours, and how much of it is left; `null` without a budget. */
  readonly budget: { readonly credits: number; readonly left: number } | null;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export interface Limits {
  /**
   * Waits until one create may be sent. In this process, repeats of unanswered sends go first, then direct requests,
   * then narrations. Within each of these groups, the create that came first goes first. An admitted record is already
   * `unresolved`. Calls `onWaiting` with each reason for waiting and the milliseconds until the next try.
   *
   * @throws AudioError `budget_exceeded`, at once; `max_credits_reached`; `store_unavailable` for every waiting create,
   *   if the store is lost. Throws the signal's reason if the signal aborts. The create then leaves the queue, and an
   *   admission that has just been made is released.
   */
  admitCreate(order: CreateOrder & { readonly signal: AbortSignal }): Promise<CreateOutcome>;
  /** Releases an admission for which nothing was sent. Never rejects. */
  releaseUnused(outcome: CreateOutcome): Promise<void>;
  /** Marks the create of an admission as ended, with or without success, so that it needs no further heartbeats. */
  clearPending(sendId: string): void;
  /**
   * Runs one query or download as soon as this process's limit of 60 reads in 60 s allows it. Ignores other processes,
   * because a 429 on a read costs nothing and pauses only the reads of this process. Polls slow down once half of the
   * reads are used. Polls never use the last 8 of the 60. These are for downloads and other queries.
   */
  read<T>(signal: AbortSignal, run: () => Promise<T>, options?: ReadOptions): Promise<T>;
  /**
   * Applies a 429. Creates pause in every process that uses this key and store; reads pause in this process only.
   *
   * @param retryAfterSeconds as the service stated it; already limited, but not yet scaled
   */
  pause(limitClass: LimitClass, retryAfterSeconds: number): Promise<void>;
  /** Returns the credits that all keys of the origin have spent, and the rest of the budget. */
  spending(): Promise<Spending>;
  /** Asks again for waiting creates, because a task has left its place in flight. */
  wakeCreates(): void;
  /** Renews the lease of a record until it is dropped. Calls `onLost` when another process has acquired it. */
  keepLease(recordId: string, onLost: () => void): void;
  dropLease(recordId: string): void;
  /**
   * Writes a fact to the store. Use this for facts whose caller could not act on an error. Resolves after the first
   * try, and never rejects. If that try fails, the write is tried again at each heartbeat, until it succeeds or the
   * process closes. So the caller must not assume that the fact is stored.
   */
  writeNowOrLater(what: string, write: () => Promise<unknown>): Promise<void>;
  /** Stops heartbeats and rejects all waiting requests. The store stays open. */
  close(): Promise<void>;
}

export function createLimits(options: LimitsOptions): Limits {
  const { ledger, clock, log, timeScale, creditBudget } = options;
  const { store } = ledger;
  const timing = limitTiming(timeScale);
  const pauses = new LocalPauses(clock);
  const housekeeping = new Housekeeping({
    clock,
    log,
    heartbeatMs: timing.heartbeatMs,
    renewalMs: ledger.leaseTtlMs / 3,
    heartbeat: (recordIds) => store.heartbeat(recordIds),
  });
  const creates = new Creates({ ledger, clock, creditBudget, timing, pauses, housekeeping });
  const reads = new Reads({ clock, timing, pauses });

  return {
    admitCreate: ({ signal, ...order }) => creates.admit(order, signal),
    spending: async () => {
      const nowMs = clock.wallMs();
      const [today, last7Days, last30Days, lastDay] = await Promise.all(
        [nowMs - new Date(nowMs).setHours(0, 0, 0, 0), 7 * DAY_MS, 30 * DAY_MS, DAY_MS].map((ms) =>
          store.spentCredits(ms),
        ),
      );
      const left = (creditBudget ?? 0) - (lastDay ?? 0);
      const budget = creditBudget === null ? null : { credits: creditBudget, left: Math.max(0, left) };
      return { today: today ?? 0, last7Days: last7Days ?? 0, last30Days: last30Days ?? 0, budget };
    },
    releaseUnused: (outcome) => creates.releaseUnused(outcome),
    clearPending: (sendId) => housekeeping.clearPending(sendId),
    read: (signal, run, readOptions = {}) => reads.run(signal, run, readOptions),
    async pause(limitClass, retryAfterSeconds) {
      const ms = retryAfterSeconds * 1000 * timeScale;
      const endsAtMs = clock.steadyMs() + ms;
      pauses.set(limitClass, ms);
      if (limitClass === "reads") return;
      await housekeeping.writeNowOrLater("a pause", async () => {
        const leftMs = endsAtMs - clock.steadyMs();
        if (leftMs > 0) await store.pause(leftMs);
      });
    },
    wakeCreates: () => creates.wake(),
    keepLease: (recordId, onLost) => housekeeping.keepLease(recordId, onLost),
    dropLease: (recordId) => housekeeping.dropLease(recordId),
    writeNowOrLater: (what, write) => housekeeping.writeNowOrLater(what, write),
    async close() {
      const closing = new AudioError("store_unavailable", "The server is stopping; nothing was sent.", {
        retryable: true,
      });
      reads.dismiss(closing);
      await creates.close(closing);
      await housekeeping.close();
    },
  };
}

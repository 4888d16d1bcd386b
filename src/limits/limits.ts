/** Owns who may send what, and when, for one account: composes queues, slots on the store, pauses; sends nothing. */
import type { Clock } from "../clock.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { AudioError } from "../errors.ts";
import type { AccountId, Coordinator, HolderId, LimitClass } from "../ledger/coordinator.ts";
import type { Log } from "../log.ts";
import { type CreateOrder, type CreateSlot, Creates, type WaitReason } from "./creates.ts";
import { Housekeeping } from "./housekeeping.ts";
import { LocalPauses } from "./local-pauses.ts";
import { type ReadOptions, Reads, type ReadWaitReason } from "./reads.ts";
import { limitTiming } from "./timing.ts";

export type { CreateSlot, ReadOptions, ReadWaitReason, WaitReason };

export interface LimitsOptions {
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly log: Log;
  readonly accountId: AccountId;
  readonly origin: string;
  readonly holder: HolderId;
  /** Multiplies windows, lapse, heartbeats and pauses, never the budget's 24 hours; 1 but in tests. */
  readonly timeScale: number;
  /** Most credits reserved or charged in any 24 hours; `null`: no budget. */
  readonly creditBudget: number | null;
}

export interface Limits {
  /**
   * Waits for a slot for one create, first come first served within the process; a repeat of an unanswered send
   * goes first. `onWaiting` is told each time the reason for waiting is learnt, with the milliseconds until it is
   * asked again.
   *
   * @throws AudioError `budget_exceeded`, at once; `store_unavailable` where the store is lost: creates are
   *   refused then, also those that wait. The signal's reason, once it aborts: the queue is left then, and a slot
   *   just won is given back.
   */
  admitCreate(request: CreateOrder & { readonly signal: AbortSignal }): Promise<CreateSlot>;
  /**
   * Runs one query or download within the shared budget of 60 in 60 s. Its time counts from `settled` (for a
   * download: the response's headers), or from the end of `run`. While the store is lost, a quarter of the budget
   * is this process's own. Polls are slowed down once half of the budget is used, and leave 8 of the 60 to others.
   */
  read<T>(signal: AbortSignal, run: (settled: () => void) => Promise<T>, options?: ReadOptions): Promise<T>;
  /**
   * A 429 was answered: nobody on this store sends this class for so long.
   *
   * @param retryAfterSeconds as the service said it, unscaled, already capped
   */
  pause(limitClass: LimitClass, retryAfterSeconds: number): Promise<void>;
  /**
   * A task reached its end and cost so much: its slot is free, also for those who wait here. Never rejects; what
   * the store cannot be told now, it is told later.
   */
  endTask(recordId: string, attempt: number, chargedCredits: number): Promise<void>;
  /** A task was found under way; it counts as in flight until it ends. Never rejects. */
  noteInFlight(recordId: string, attempt: number): Promise<void>;
  /** Ends signs of life and sends away everyone who waits. The store stays open. */
  close(): Promise<void>;
}

export function createLimits(options: LimitsOptions): Limits {
  const { coordinator, clock, log, accountId, origin, holder, timeScale, creditBudget } = options;
  const timing = limitTiming(timeScale);
  const pauses = new LocalPauses(clock);
  const housekeeping = new Housekeeping({
    clock,
    log,
    intervalMs: timing.heartbeatMs,
    heartbeat: () => coordinator.heartbeat(holder),
  });
  const shared = { coordinator, clock, log, accountId, holder, timing, pauses, housekeeping };
  const creates = new Creates({ ...shared, origin, creditBudget });
  const reads = new Reads(shared);

  return {
    admitCreate: ({ signal, ...order }) => creates.admit(order, signal),
    read: (signal, run, readOptions = {}) => reads.run(signal, run, readOptions),
    async pause(limitClass, retryAfterSeconds) {
      const ms = retryAfterSeconds * 1000 * timeScale;
      const endsAtMs = clock.steadyMs() + ms;
      pauses.set(limitClass, ms);
      await housekeeping.report("a pause", async () => {
        const leftMs = endsAtMs - clock.steadyMs();
        if (leftMs > 0) await coordinator.pause(accountId, limitClass, leftMs);
      });
    },
    async endTask(recordId, attempt, chargedCredits) {
      await housekeeping.report("the end of a task", () =>
        coordinator.endTask(recordId, attempt, chargedCredits),
      );
      creates.freed(recordId);
    },
    async noteInFlight(recordId, attempt) {
      await housekeeping.report("a task in flight", () =>
        coordinator.noteInFlight(accountId, origin, recordId, attempt, RESERVED_CREDITS),
      );
    },
    async close() {
      const closing = new AudioError("store_unavailable", "The server is stopping; nothing was sent.", {
        retryable: true,
      });
      creates.dismiss(closing);
      reads.dismiss(closing);
      await housekeeping.close();
    },
  };
}

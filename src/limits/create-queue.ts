/**
 * Queues the creates of this process by rank, and within a rank by arrival. Only the first create in the queue asks the
 * ledger.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { CREATES_PER_WINDOW, IN_FLIGHT_TASKS } from "../contract/service-limits.ts";
import { AudioError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { AdmissionHold } from "../ledger/rules/admission.ts";
import type { BackgroundWrites } from "./background-writes.ts";
import type { LocalPauses } from "./local-pauses.ts";
import { PriorityQueue, type QueueAnswer } from "./priority-queue.ts";
import { BUDGET_WINDOW_MS, type LimitTiming } from "./timing.ts";

export interface QueuedCreate {
  /** The record as last read: `waiting`, or `unresolved` to repeat a send. */
  readonly record: TaskRecord;
  /**
   * Returns the narration that the create is sent for; `null` for a direct request. The ledger checks the narration's
   * limit when it admits the create. Direct requests go first. The value can change while the create waits.
   */
  narrationId?(): string | null;
  /**
   * Whether every waiting caller has a call handle. The create is not sent once all these call handles are cancelled.
   */
  isForHandles?(): boolean;
  onWaiting(reason: AdmissionHold, waitMs: number): void;
}

/**
 * `admitted`: the create may be sent, and its record is already `unresolved`. `changed`: another process has
 * changed the record.
 */
export type CreateOutcome =
  | { readonly kind: "admitted"; readonly record: TaskRecord; readonly sendId: string }
  /** Every caller has cancelled, or another process drives the narration. */
  | { readonly kind: "not_wanted" }
  | { readonly kind: "changed"; readonly record: TaskRecord | null; readonly isLeaseLost: boolean };

export interface CreateQueueOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly creditBudget: number | null;
  readonly timing: LimitTiming;
  readonly pauses: LocalPauses;
  readonly background: BackgroundWrites;
}

/** Codes of refusals that apply to one create only. The creates behind it keep waiting. */
const REFUSES_ONE_CREATE_ONLY: ReadonlySet<string> = new Set(["budget_exceeded", "max_credits_reached"]);

export class CreateQueue {
  readonly #options: CreateQueueOptions;
  readonly #queue: PriorityQueue<QueuedCreate, CreateOutcome, AdmissionHold>;

  constructor(options: CreateQueueOptions) {
    this.#options = options;
    this.#queue = new PriorityQueue({
      clock: options.clock,
      tryAdmit: (create) => this.#tryAdmit(create),
      failsAll: (error) => !(error instanceof AudioError && REFUSES_ONE_CREATE_ONLY.has(error.code)),
      releaseUnused: (outcome) => this.releaseUnused(outcome),
      // A repeated send goes first, because it already has a place in flight. Behind a create that waits for this
      // place, the repeated send would wait forever, and so would the create.
      priority: ({ record, narrationId }) => {
        if (record.status === "unresolved") return 0;
        return (narrationId?.() ?? null) === null ? 1 : 2;
      },
      onWaiting: (create, reason, waitMs) => create.onWaiting(reason, waitMs),
    });
  }

  /**
   * Waits until one create may be sent. In this process, repeats of unanswered sends go first, then direct requests,
   * then narrations. Within each of these groups, the create that came first goes first. An admitted record is already
   * `unresolved`. Calls `onWaiting` with each reason for waiting and the milliseconds until the next try.
   *
   * @throws AudioError `budget_exceeded`, at once; `max_credits_reached`; `store_unavailable` for every waiting create,
   *   if the store is lost. Throws the signal's reason if the signal aborts. The create then leaves the queue, and an
   *   admission that has just been made is released.
   */
  async waitForAdmission(create: QueuedCreate, signal: AbortSignal): Promise<CreateOutcome> {
    if (this.#queue.length > 0) await this.#refuseOverBudget(create);
    return await this.#queue.enter(create, signal);
  }

  /** Asks again for the create at the head of the queue, because a place in flight may have become free. */
  wake(): void {
    this.#queue.wake();
  }

  /** Rejects all waiting creates. If an admission is being requested, resolves only after the admission is released. */
  async close(error: unknown): Promise<void> {
    this.#queue.dismiss(error);
    await this.#queue.idle();
  }

  /** Releases an unused admission. Never rejects: if the store cannot be reached now, the release is retried later. */
  async releaseUnused(outcome: CreateOutcome): Promise<void> {
    if (outcome.kind === "admitted") await this.#releaseAdmission(outcome.record, outcome.sendId);
  }

  async #releaseAdmission(record: TaskRecord, sendId: string): Promise<void> {
    const { background, ledger } = this.#options;
    background.clearPending(sendId);
    await background.writeNowOrLater("an unused admission", () => ledger.releaseAdmission(record, sendId));
    this.#queue.wake();
  }

  /** Refuses a create over the budget instead of letting it wait, because the ledger would refuse it after the wait. */
  async #refuseOverBudget({ record }: QueuedCreate): Promise<void> {
    const { creditBudget, ledger } = this.#options;
    if (creditBudget === null || record.status === "unresolved") return;
    const spent = await ledger.store.spentCredits(BUDGET_WINDOW_MS);
    if (spent + RESERVED_CREDITS > creditBudget) throw overBudgetError(creditBudget, spent);
  }

  async #tryAdmit({
    record,
    narrationId,
    isForHandles,
  }: QueuedCreate): Promise<QueueAnswer<CreateOutcome, AdmissionHold>> {
    const { ledger, creditBudget, timing, pauses, background } = this.#options;
    const pausedMs = pauses.leftMs("creates");
    if (pausedMs > 0) return { waitFor: "paused", waitMs: Math.ceil(pausedMs) };
    const sendId = randomUUID();
    const admission = await ledger
      .requestAdmission(
        record,
        sendId,
        {
          maxCreates: CREATES_PER_WINDOW,
          windowMs: timing.windowMs,
          maxInFlight: IN_FLIGHT_TASKS,
          lapseMs: timing.lapseMs,
          budget: creditBudget === null ? null : { credits: creditBudget, windowMs: BUDGET_WINDOW_MS },
        },
        { narrationId: narrationId?.() ?? null, isForHandles: isForHandles?.() ?? false },
      )
      .catch((error: unknown) => {
        // Release the admission. It may be committed although the answer of the ledger was lost. The store would then
        // count a place in flight and credits that no create uses.
        void this.#releaseAdmission(record, sendId);
        throw error;
      });
    switch (admission.kind) {
      case "admitted":
        background.markPending(sendId);
        return { outcome: { ...admission, sendId } };
      case "changed":
      case "not_wanted":
        return { outcome: admission };
      case "over_limit":
        throw overLimitError(admission.maxCredits, admission.billedCredits);
      case "over_budget":
        // The cost of this record's earlier attempts counts towards the budget, too.
        throw overBudgetError(creditBudget ?? 0, admission.countedCredits + record.earlierCredits);
      case "held": {
        const { reason } = admission;
        // Poll, because this process is not notified when another process's task ends.
        const maxMs =
          reason === "paused" || reason === "rate" ? Number.POSITIVE_INFINITY : timing.inFlightPollMs;
        const waitMs = Math.max(1, Math.ceil(Math.min(maxMs, admission.waitMs)));
        return { waitFor: reason, waitMs };
      }
    }
  }
}

const overLimitError = (maxCredits: number, billed: number): AudioError =>
  new AudioError(
    "max_credits_reached",
    `max_credits of ${maxCredits} leaves no room for another part: ${Math.round(billed)} are charged or reserved, and each part reserves ${RESERVED_CREDITS} until its own charge is known.`,
  );

function overBudgetError(budget: number, counted: number): AudioError {
  return new AudioError(
    "budget_exceeded",
    `The credit budget of ${budget} for any 24 hours leaves no room for another task: ${counted} credits are reserved or charged, and each new task reserves ${RESERVED_CREDITS}. Nothing was sent.`,
  );
}

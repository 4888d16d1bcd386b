/**
 * Queues the submissions of this process by rank, and within a rank by arrival. Only the first submission in the queue
 * requests admission. A submission that already exceeds the budget when it arrives does not wait in the queue.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { MAX_CONCURRENT_TASKS, SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import { AudioError } from "../errors.ts";
import type { AdmissionResult, Ledger } from "../ledger/ledger.ts";
import type { RequestRecord } from "../ledger/record.ts";
import type { AdmissionWaitReason } from "../ledger/rules/admission.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { LocalCooldowns } from "./local-cooldowns.ts";
import type { PendingWrites } from "./pending-writes.ts";
import { PriorityQueue, type QueueDecision } from "./priority-queue.ts";
import { BUDGET_WINDOW_MS, type LimitTiming } from "./timing.ts";

export interface QueuedSubmission {
  /** The record as last read. Its status is `waiting`, or `unresolved` if an earlier submission is to be sent again. */
  readonly record: RequestRecord;
  /**
   * Returns the id of the narration that needs the submission; `null` for a direct request. The id may change while the
   * submission waits. Direct requests go before narrations. At the admission, the ledger checks the `max_credits` of
   * this narration.
   */
  narrationId?(): string | null;
  /**
   * Whether all callers of the submission have MCP tasks. Such a submission is not sent if all these MCP tasks are
   * cancelled.
   */
  hasOnlyMcpTaskCallers?(): boolean;
  onWaiting(reason: AdmissionWaitReason, waitMs: number): void;
}

/**
 * The admission results that {@link SubmissionQueue.waitForAdmission} returns. It does not return the other results: it
 * throws for `over_max_credits` and `over_budget`, and it requests admission again after `wait`.
 */
export type AdmissionWaitResult = Exclude<
  AdmissionResult,
  { readonly kind: "over_max_credits" | "over_budget" | "wait" }
>;

export interface SubmissionQueueOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly creditBudget: number | null;
  readonly timing: LimitTiming;
  readonly cooldowns: LocalCooldowns;
  readonly heartbeats: Heartbeats;
  readonly pendingWrites: PendingWrites;
}

/** Codes of errors that fail only one submission. The other submissions in the queue keep waiting. */
const CODES_REFUSING_ONE_SUBMISSION: ReadonlySet<string> = new Set([
  "budget_exceeded",
  "max_credits_reached",
]);

/**
 * Lets the submissions of this process wait until the ledger admits them. An admission takes a rate slot and a
 * concurrency slot, and reserves credits. A caller that does not use its admission must therefore call
 * {@link SubmissionQueue.releaseUnused}.
 */
export class SubmissionQueue {
  readonly #options: SubmissionQueueOptions;
  readonly #queue: PriorityQueue<QueuedSubmission, AdmissionWaitResult, AdmissionWaitReason>;

  constructor(options: SubmissionQueueOptions) {
    this.#options = options;
    this.#queue = new PriorityQueue({
      clock: options.clock,
      tryAdmit: (submission) => this.#tryAdmit(submission),
      mustRejectAll: (error) =>
        !(error instanceof AudioError && CODES_REFUSING_ONE_SUBMISSION.has(error.code)),
      releaseUnused: (outcome) => this.releaseUnused(outcome),
      // A submission that is sent again goes first, because it already has a concurrency slot. If it waited behind a
      // submission that needs this concurrency slot, both would wait forever.
      rankOf: ({ record, narrationId }) => {
        if (record.status === "unresolved") return 0;
        return (narrationId?.() ?? null) === null ? 1 : 2;
      },
      onWaiting: (submission, reason, waitMs) => submission.onWaiting(reason, waitMs),
    });
  }

  /**
   * Waits until one submission may be sent. In this process, unresolved submissions go first, then direct
   * requests, then narrations. Each of these groups is served in the order of arrival. Calls `onWaiting` with each
   * reason for waiting and the milliseconds until the next try. If the submission is admitted, the returned record is
   * already `unresolved`.
   *
   * @throws AudioError `budget_exceeded`, at once if the budget does not suffice on arrival; `max_credits_reached`;
   *   `store_unavailable` if the store is lost, which fails all waiting submissions
   * @throws the signal's reason if the signal aborts. The submission leaves the queue, and an admission that has just
   *   been made is released
   */
  async waitForAdmission(submission: QueuedSubmission, signal: AbortSignal): Promise<AdmissionWaitResult> {
    // Skip this check if the queue is empty. The submission then becomes the head at once, and the ledger checks the
    // budget at its admission.
    if (this.#queue.length > 0) await this.#refuseOverBudget(submission);
    return await this.#queue.enqueue(submission, signal);
  }

  /**
   * Requests admission again for the submission at the head of the queue. Call this when a concurrency slot may have
   * become free.
   */
  wake(): void {
    this.#queue.wake();
  }

  /**
   * Rejects all waiting submissions. If an admission is being requested, resolves only after the admission is released.
   */
  async close(error: unknown): Promise<void> {
    this.#queue.rejectAll(error);
    await this.#queue.onIdle();
  }

  /** Releases an unused admission. Never rejects: if the store cannot be reached now, the release is retried later. */
  async releaseUnused(outcome: AdmissionWaitResult): Promise<void> {
    if (outcome.kind === "admitted") await this.#releaseAdmission(outcome.record, outcome.sendId);
  }

  async #releaseAdmission(record: RequestRecord, sendId: string): Promise<void> {
    const { heartbeats, pendingWrites, ledger } = this.#options;
    heartbeats.clearPending(sendId);
    await pendingWrites.writeNowOrLater("an unused admission", () => ledger.releaseAdmission(record, sendId));
    this.#queue.wake();
  }

  /**
   * Refuses a submission that exceeds the budget. Without this check, the ledger would refuse the submission only at
   * the head of the queue.
   */
  async #refuseOverBudget({ record }: QueuedSubmission): Promise<void> {
    const { creditBudget, ledger } = this.#options;
    if (creditBudget === null || record.status === "unresolved") return;
    const spent = await ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS);
    if (spent + RESERVED_CREDITS > creditBudget) throw overBudgetError(creditBudget, spent);
  }

  async #tryAdmit({
    record,
    narrationId,
    hasOnlyMcpTaskCallers,
  }: QueuedSubmission): Promise<QueueDecision<AdmissionWaitResult, AdmissionWaitReason>> {
    const { ledger, creditBudget, timing, cooldowns, heartbeats } = this.#options;
    const cooldownMs = cooldowns.computeLeftMs("submissions");
    if (cooldownMs > 0) return { waitFor: "cooldown", waitMs: Math.ceil(cooldownMs) };
    const sendId = randomUUID();
    const admission = await ledger
      .requestAdmission(
        record,
        sendId,
        {
          maxSubmissions: SUBMISSIONS_PER_WINDOW,
          limitWindowMs: timing.limitWindowMs,
          maxConcurrentTasks: MAX_CONCURRENT_TASKS,
          unresolvedSlotTtlMs: timing.unresolvedSlotTtlMs,
          budget: creditBudget === null ? null : { credits: creditBudget, windowMs: BUDGET_WINDOW_MS },
        },
        { narrationId: narrationId?.() ?? null, hasOnlyMcpTaskCallers: hasOnlyMcpTaskCallers?.() ?? false },
      )
      .catch((error: unknown) => {
        // Release the admission, because the store may have committed it before the error. An unused admission would
        // occupy a concurrency slot and reserve credits.
        void this.#releaseAdmission(record, sendId);
        throw error;
      });
    switch (admission.kind) {
      case "admitted":
        heartbeats.markPending(sendId);
        return { outcome: admission };
      case "conflict":
      case "not_wanted":
        return { outcome: admission };
      case "over_max_credits":
        throw overMaxCreditsError(admission.maxCredits, admission.billedCredits);
      case "over_budget":
        // The cost of this record's earlier attempts counts towards the budget, too.
        throw overBudgetError(creditBudget ?? 0, admission.spentInWindowCredits + record.earlierCredits);
      case "wait": {
        const { reason } = admission;
        // While no concurrency slot is free, ask again at intervals, because nothing tells this process when the task
        // of another process ends.
        const maxMs =
          reason === "cooldown" || reason === "rate"
            ? Number.POSITIVE_INFINITY
            : timing.concurrencySlotPollMs;
        const waitMs = Math.max(1, Math.ceil(Math.min(maxMs, admission.waitMs)));
        return { waitFor: reason, waitMs };
      }
    }
  }
}

const overMaxCreditsError = (maxCredits: number, billed: number): AudioError =>
  new AudioError(
    "max_credits_reached",
    `max_credits of ${maxCredits} leaves no room for another part: ${Math.round(billed)} are charged or reserved, and each part reserves ${RESERVED_CREDITS} until its own charge is known.`,
  );

function overBudgetError(budget: number, spentInWindowCredits: number): AudioError {
  return new AudioError(
    "budget_exceeded",
    `The credit budget of ${budget} for any 24 hours leaves no room for another task: ${spentInWindowCredits} credits are reserved or charged, and each new task reserves ${RESERVED_CREDITS}. Nothing was sent.`,
  );
}

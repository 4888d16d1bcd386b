/** Decides what a job does next. A pure function, so that tests can check every state of a record. */
import { isRefunded, type RequestRecord } from "../../ledger/record.ts";

export type JobAction =
  /** Send the submission, or send it again under the same key if its response was lost. */
  | { readonly kind: "send" }
  /**
   * Start the next attempt at the same request. `wasSeenByThisJob`: true if this job learned of the failure, from a
   * poll or from the response to its submission; false if the record was already failed when the job began.
   */
  | { readonly kind: "new_attempt"; readonly wasSeenByThisJob: boolean }
  /** Poll the service until the task has ended. */
  | { readonly kind: "watch" }
  | { readonly kind: "save" }
  /** `unsent`: the request was not sent, and this job must not send it. */
  | { readonly kind: "end"; readonly outcome: "failed" | "unsent" };

/** The point at which the task failed. Ignored unless the task has failed. */
export type FailureTiming =
  /** The task had failed before the job started. */
  | "before_job"
  /**
   * The response to a submission contains a task that has already failed. An earlier send under the same idempotency
   * key created the task.
   */
  | "in_response"
  /** The task failed while this job ran. */
  | "during_job";

export interface JobFacts {
  /** Whether the job may send submissions, and a caller still wants them. */
  readonly maySubmit: boolean;
  /** Whether the job makes a part of a narration. If so, the narration checks its own credit limit for each attempt. */
  readonly isOfNarration: boolean;
  /**
   * Whether the callers allow a new attempt if the response to a submission shows that the current attempt has already
   * failed.
   */
  readonly mayRetryEarlierTask: boolean;
  readonly failureTiming: FailureTiming;
  /** Whether an attempt of the record had failed before this process acquired the lease. */
  readonly hadFailedAttempt: boolean;
  /** Number of tasks that this job has created. */
  readonly newTaskCount: number;
  /** Number of submissions of this job whose response was an already failed task. */
  readonly alreadyFailedResponseCount: number;
}

/** A job creates at most two tasks: the first task, and a second one if the first task fails and is refunded. */
const MAX_NEW_TASKS = 2;

/**
 * Limits new attempts if the service responds to every submission with a failed task. Without this limit, the job would
 * send submissions until the recovery timeout passes.
 */
const MAX_ALREADY_FAILED_RESPONSES = 2;

/**
 * Decides what a job does next. The caller decides again after each action, because the action changes the record. A
 * job that may not submit still watches an accepted task and saves its audio.
 *
 * If the task failed while the job ran, or if the response to a submission contains a failed task, a new attempt begins
 * only after a refund. See {@link mayStartNewAttempt} for the other conditions.
 */
export function decideNextAction(record: RequestRecord, facts: JobFacts): JobAction {
  switch (record.status) {
    case "waiting":
    case "unresolved":
      return facts.maySubmit ? { kind: "send" } : { kind: "end", outcome: "unsent" };
    case "queued":
    case "processing":
      return { kind: "watch" };
    case "succeeded":
      return { kind: "save" };
    case "failed":
      return mayStartNewAttempt(record, facts)
        ? { kind: "new_attempt", wasSeenByThisJob: facts.failureTiming !== "before_job" }
        : { kind: "end", outcome: "failed" };
  }
}

/**
 * Whether to start a new attempt after the task failed. If the task failed before this job started, the answer is yes,
 * because a new call requests the audio and pays for it. If the task failed later, the answer is yes only after a
 * refund. A job retries at most one of the tasks that it created.
 */
function mayStartNewAttempt(record: RequestRecord, facts: JobFacts): boolean {
  if (!facts.maySubmit) return false;
  switch (facts.failureTiming) {
    case "before_job":
      return true;
    case "in_response":
      return (
        isRefunded(record) &&
        facts.alreadyFailedResponseCount < MAX_ALREADY_FAILED_RESPONSES &&
        (facts.newTaskCount === 0 ? mayRetryTaskOfEarlierCall(facts) : mayRetryOwnTask(facts))
      );
    case "during_job":
      return isRefunded(record) && mayRetryOwnTask(facts);
  }
}

/**
 * Whether to start a new attempt after the task of an earlier call failed. Always false for a narration, because the
 * narration checks its own credit limit before it requests another task.
 */
const mayRetryTaskOfEarlierCall = ({ mayRetryEarlierTask, isOfNarration }: JobFacts): boolean =>
  mayRetryEarlierTask && !isOfNarration;

const mayRetryOwnTask = ({ hadFailedAttempt, newTaskCount }: JobFacts): boolean =>
  !hadFailedAttempt && newTaskCount > 0 && newTaskCount < MAX_NEW_TASKS;

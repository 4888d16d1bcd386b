/** What a job does next for its task: pure, so that each state of a record has one answer that a test can ask for. */
import { isRefunded, type TaskRecord } from "../../ledger/record.ts";

export type TaskAction =
  /** Sends the create, or sends it again under the same key where its answer was not seen. */
  | { readonly kind: "send" }
  /** Begins the next attempt at the same request. `isSameCall`: for the call that saw the last one fail. */
  | { readonly kind: "again"; readonly isSameCall: boolean }
  /** Asks the service until the task has ended. */
  | { readonly kind: "ask" }
  | { readonly kind: "fetch" }
  /** `left`: nothing was sent, and nobody here may send it. */
  | { readonly kind: "end"; readonly as: "failed" | "left" };

/** How this job has learnt that the task failed. */
export type FailureSeen =
  /** It had failed before the job began. */
  | "before"
  /** The answer to a create said so: the task is an earlier call's, which the ledger has lost. */
  | "in_answer"
  /** This job or another process has watched it fail. */
  | "watching";

export interface JobFacts {
  /** The job may send creates, and somebody still wants its task. */
  readonly mayCreate: boolean;
  /** It creates for a narration, whose limit is judged for each attempt. */
  readonly isOfNarration: boolean;
  /** Callers allow attempts beyond one that turns out to have failed earlier. */
  readonly mayRetryFailedAttempt: boolean;
  readonly failure: FailureSeen;
  /** The record had a failed attempt when the job began. */
  readonly hadFailed: boolean;
  /** Tasks that creates of this job have made. */
  readonly newTasks: number;
  /** Creates of this job that were answered by a task which had failed. */
  readonly replayedFailures: number;
}

/** The second task is the free repeat of one that failed. */
const MAX_NEW_TASKS = 2;

/** A service that answers every create with a failed task must not get as many as fit into the recovery window. */
const MAX_REPLAYED_FAILURES = 2;

export function nextAction(record: TaskRecord, facts: JobFacts): TaskAction {
  switch (record.status) {
    case "waiting":
    case "unresolved":
      return facts.mayCreate ? { kind: "send" } : { kind: "end", as: "left" };
    case "queued":
    case "processing":
      return { kind: "ask" };
    case "succeeded":
      return { kind: "fetch" };
    case "failed":
      return mayTryAgain(record, facts)
        ? { kind: "again", isSameCall: facts.failure !== "before" }
        : { kind: "end", as: "failed" };
  }
}

/** A call that asks for a failed task pays for one more; unasked, only what was refunded is tried again, once. */
function mayTryAgain(record: TaskRecord, facts: JobFacts): boolean {
  if (!facts.mayCreate) return false;
  switch (facts.failure) {
    case "before":
      return true;
    case "in_answer":
      return (
        isRefunded(record) &&
        facts.replayedFailures < MAX_REPLAYED_FAILURES &&
        (facts.newTasks === 0 ? mayRetryFailedAttempt(facts) : mayRepeat(facts))
      );
    case "watching":
      return isRefunded(record) && mayRepeat(facts);
  }
}

/** A narration decides by itself whether another task is within what it may spend. */
const mayRetryFailedAttempt = ({ mayRetryFailedAttempt: isAllowed, isOfNarration }: JobFacts): boolean =>
  isAllowed && !isOfNarration;

const mayRepeat = ({ hadFailed, newTasks }: JobFacts): boolean =>
  !hadFailed && newTasks > 0 && newTasks < MAX_NEW_TASKS;

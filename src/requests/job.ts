/** What the steps of driving a request share: the work of this process on it, and what follows an answer. */
import type { ObservedTask } from "../api/parse-task.ts";
import type { AudioError } from "../errors.ts";
import { releaseAdmission } from "../ledger/admission.ts";
import { buildNextAttempt, type RequestPatch } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { endOwnCourse, isRequestWanted } from "../ledger/wishes.ts";
import type { RequestDeps } from "./deps.ts";
import { buildNote, type Note } from "./note.ts";
import type { SubmissionLine } from "./submission-line.ts";
import { isRefunded } from "./task-failed-error.ts";

/** The work of this process on one request. Nothing of it must survive the process. */
export interface Job {
  readonly requestId: string;
  /** Aborts when the work must stop. */
  readonly signal: AbortSignal;
  /** Aborts a send that is under way; a little later than `signal`, because its answer may be about to arrive. */
  readonly sendSignal: AbortSignal;
  /** Whether a task of the request had failed before this job. */
  hadFailedAttempt: boolean;
  /** How many tasks this job has had made. Only such a task is tried again, and only once. */
  newTaskCount: number;
  /** How many submissions may still be answered by a task that had failed before. */
  replaysLeft: number;
  /** Whether a send of this job may have arrived and has no answer. */
  mayHaveSent: boolean;
  /** Whether an answer to a send of this job was lost. A failed task may then be of this job. */
  hasLostAnswer: boolean;
  /** Whether the service had said before that it does not know the task: then one more 404 is enough. */
  wasGone: boolean;
  /** Whether this job has sent the submission of an accepted task again, because its id must be wrong. */
  hasAskedForId: boolean;
  /** Whether a caller has cancelled, so that it is looked once more whether the request is wanted before it is sent. */
  isDoubtful: boolean;
  /** The row with its accepted task, while the ledger cannot be written. */
  unwritten: RequestRow | null;
  /** Since when a send is under way, on the steady clock. */
  sendingSinceMs: number | null;
  /** When the job stops to try its submission, on the steady clock. */
  readonly submitUntilMs: number;
  /** How many of its sends were not accepted. */
  failureCount: number;
  /** Why the newest send was not accepted; `null` before one was not. */
  lastError: AudioError | null;
  /** Aborts when somebody asks for the request again, so that a wait for credits ends. */
  askedAgain: AbortController;
}

/** What the steps of the loop over one request use. */
export interface StepDeps extends RequestDeps {
  readonly job: Job;
  readonly line: SubmissionLine;
  /** Tells waiting calls that a row has changed. */
  readonly announce: (row: RequestRow) => void;
  /** Resumes accepted tasks that nobody watches. */
  readonly resumeOthers: () => void;
  /** Ends wishes that could not be ended yet. Throws while the ledger is away. */
  readonly endWishes: () => Promise<void>;
  /** Writes as soon as the ledger can be written, until the job must end. */
  readonly persist: <T>(write: () => Promise<T>) => Promise<T>;
  /** Does the same with a row, and tells waiting calls of it. */
  readonly persistRow: (write: () => Promise<RequestRow>) => Promise<RequestRow>;
  /** Does the same with columns of the row. */
  readonly save: (row: RequestRow, patch: RequestPatch) => Promise<RequestRow>;
}

/**
 * Whether nothing more happens to a request by itself, whether its audio is here or not. While a process drives a
 * failed one, it may begin the next attempt.
 */
export const isOver = ({ status, error_code, owner }: RequestRow): boolean =>
  (status === "failed" && owner === null) || error_code !== null;

/** Returns what the service's answer about a task says of the attempt. */
export function toObservedPatch(task: ObservedTask, row: RequestRow, nowMs: number): RequestPatch {
  const hasEnded = task.status === "succeeded" || task.status === "failed";
  return {
    status: task.status,
    task_id: task.taskId,
    // A bill of a failed task that states no charge says that nothing was charged.
    charged_credits:
      task.billing?.charged_credits ?? (task.status === "failed" && task.billing !== null ? 0 : null),
    refunded_credits: task.billing?.refunded_credits ?? null,
    audio_seconds: task.audioSeconds ?? row.audio_seconds,
    output_format: task.output?.format ?? row.output_format,
    output_rate_hz: task.output?.sampleRateHz ?? row.output_rate_hz,
    output_seconds: task.output?.durationSeconds ?? row.output_seconds,
    failure_code: task.status === "failed" ? (task.error?.code ?? "unknown") : null,
    failure_message: task.status === "failed" ? (task.error?.message ?? "") : null,
    accepted_at_ms: row.accepted_at_ms ?? nowMs,
    finished_at_ms: hasEnded ? (row.finished_at_ms ?? nowMs) : null,
  };
}

/** A job has at most two tasks made: the first, and one more if the first fails and is refunded. */
const MAX_NEW_TASKS = 2;

/**
 * Begins the next attempt after a task that failed, if that is free and was not tried before.
 *
 * @param isEarlierTask whether the answer to a submission was a task that had failed before
 * @returns the row with its next attempt, or `null` if the failure is the end
 */
export async function retryFailed(
  deps: StepDeps,
  row: RequestRow,
  isEarlierTask: boolean,
): Promise<RequestRow | null> {
  const { job } = deps;
  deps.line.wake();
  const mayRetryOwn = !job.hadFailedAttempt && job.newTaskCount > 0 && job.newTaskCount < MAX_NEW_TASKS;
  const mayReplay = job.replaysLeft > 0 && (job.newTaskCount === 0 || mayRetryOwn);
  const mayRetry = isRefunded(row) && (isEarlierTask ? mayReplay : mayRetryOwn);
  if (!mayRetry || !(await deps.persist(() => isRequestWanted(deps.ledger, row.id)))) {
    // What goes on by itself has come to its end, and must pay for nobody else.
    await deps.persist(() => deps.ledger.database.run((db) => endOwnCourse(db, row.id, null)));
    return null;
  }
  if (isEarlierTask) job.replaysLeft -= 1;
  job.hasLostAnswer = false;
  return await deps.save(row, buildNextAttempt(row));
}

/** Writes why a row waits although this process works on it. */
export function writeNote(deps: StepDeps, row: RequestRow, note: Omit<Note, "sinceMs">): Promise<RequestRow> {
  const column = buildNote(row, note, deps.clock.wallMs());
  return deps.save(row, { note: column });
}

/** Takes an admission back that was not used, now or as soon as the ledger can be written. */
export function releaseUnusedAdmission(deps: StepDeps, sendId: string): Promise<void> {
  return deps
    .persist(() => releaseAdmission(deps.ledger, deps.job.requestId, sendId))
    .catch((cause: unknown) => deps.log.debug(`an admission could not be taken back: ${String(cause)}`))
    .finally(() => deps.line.wake());
}

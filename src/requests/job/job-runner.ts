/**
 * Runs the jobs of this process, at most one per record. A job acquires the lease of its record, and works on the
 * record until the audio is saved, the task has failed, or no caller wants the audio any more. If another process has
 * the lease, the job follows that process.
 */
import { AudioError, type ErrorCode, internalError } from "../../errors.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { toStoredError } from "../../ledger/stored-error.ts";
import type { RequestDeps } from "../deps.ts";
import { wrongFormatError } from "../records/find-saved.ts";
import { taskFailedError } from "../records/task-failed-error.ts";
import { acquireOrFollow } from "./acquire-or-follow.ts";
import { applyEventWithRetry } from "./apply-event-with-retry.ts";
import { Job, type JobOutcome, type JobPurpose, NotWantedError } from "./job.ts";
import { decideNextAction, type FailureTiming } from "./next-action.ts";
import { saveTask } from "./save-task.ts";
import { sendUntilAnswered } from "./send-submission.ts";
import { watchTask } from "./watch-task.ts";

/**
 * Maximum wait for the response to a submission when the program stops. The response contains the task id, which is
 * then stored.
 */
const FINAL_RESPONSE_WAIT_MS = 1200;

/**
 * Errors that are not stored as refusals, because they say nothing about the request: the ledger is unavailable, or the
 * narration has reached its credit limit.
 */
const NOT_STORED_AS_REFUSAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "store_unavailable",
  "max_credits_reached",
]);

interface RunningJob {
  readonly job: Job;
  done: Promise<void>;
}

/**
 * Maximum number of times that a call starts a job for its request. A call starts another job if a job ended without a
 * result, for example because another process drives the record, or because the job was about to end when the call
 * joined it.
 */
export const MAX_JOB_STARTS = 3;

/**
 * Runs the jobs of this process, at most one for each record. All callers that want a record share its job. The
 * `outcome` of a job reports its errors, and never rejects. {@link JobRunner.close} must be called before the ledger is
 * closed.
 */
export class JobRunner {
  readonly #deps: RequestDeps;
  readonly #running = new Map<string, RunningJob>();
  #onConcurrencySlotsFull: () => void = () => undefined;

  constructor(deps: RequestDeps) {
    this.#deps = deps;
  }

  /**
   * Sets the listener that is called while running tasks delay a submission. The listener resumes these tasks, because
   * the processes that watched them may have died.
   */
  setConcurrencySlotsFullListener(listener: () => void): void {
    this.#onConcurrencySlotsFull = listener;
  }

  findRunning(recordId: string): Job | undefined {
    return this.#running.get(recordId)?.job;
  }

  /**
   * Returns the running job of this record, or starts one. A running `resume` job becomes a `submit` job if `purpose`
   * is `submit`.
   *
   * @param narrationId the narration that pays for the submission; `null` for a direct request
   * @param mustDownload whether to download the audio even if this machine has it
   * @param mayRetryEarlierTask whether to start a new attempt if the response to a submission shows that the current
   *   attempt has already failed
   */
  start(
    record: RequestRecord,
    purpose: JobPurpose,
    {
      narrationId = null,
      mayRetryEarlierTask = true,
      mustDownload = false,
    }: { narrationId?: string | null; mayRetryEarlierTask?: boolean; mustDownload?: boolean } = {},
  ): { job: Job; isNew: boolean } {
    const existing = this.#running.get(record.recordId);
    if (existing !== undefined) {
      if (purpose === "submit") existing.job.purpose = "submit";
      if (purpose === "submit" && narrationId === null) existing.job.narrationId = null;
      existing.job.mayRetryEarlierTask ||= mayRetryEarlierTask;
      return { job: existing.job, isNew: false };
    }
    const job = new Job(record, purpose, this.#deps.clock);
    job.narrationId = narrationId;
    job.mayRetryEarlierTask = mayRetryEarlierTask;
    job.mustDownload = mustDownload;
    const entry: RunningJob = { job, done: Promise.resolve() };
    this.#running.set(record.recordId, entry);
    entry.done = this.#acquireAndRun(job).then((end) => {
      this.#running.delete(record.recordId);
      job.resolve(end);
    });
    return { job, isNew: true };
  }

  async #acquireAndRun(job: Job): Promise<JobOutcome> {
    const { limits, ledger, log } = this.#deps;
    try {
      const leaseOutcome = await acquireOrFollow(job, this.#deps);
      if (leaseOutcome.kind === "ended") return leaseOutcome.outcome;
      job.ownsLease = leaseOutcome.kind === "acquired";
      return await this.#runActions(
        job,
        leaseOutcome.kind === "acquired" ? leaseOutcome.hadFailedAttempt : false,
      );
    } catch (error) {
      if (job.signal.aborted) return { kind: "no_result" };
      if (error instanceof NotWantedError) return { kind: "not_wanted" };
      if (!(error instanceof AudioError)) log.error("a job failed unexpectedly", error);
      const errorWithIds = toAudioErrorWithIds(job, error);
      if (job.ownsLease) await this.#storeRefusal(job, errorWithIds);
      return { kind: "error", error: errorWithIds };
    } finally {
      limits.heartbeats.stopRenewingLease(job.record.recordId);
      const { recordId } = job.record;
      // If releasing fails, the lease expires by itself.
      if (job.ownsLease) {
        await ledger.store.releaseLease(recordId).catch((cause: unknown) => log.debug(String(cause)));
      }
    }
  }

  /**
   * Stores the reason of a refusal. If a call has already returned a request handle, a later call with that handle
   * reports the reason.
   */
  async #storeRefusal(job: Job, error: AudioError): Promise<void> {
    const { ledger, limits, clock } = this.#deps;
    if (job.purpose !== "submit" || job.record.status !== "waiting" || NOT_STORED_AS_REFUSAL.has(error.code))
      return;
    const event = { kind: "refused", error: toStoredError(error), atMs: clock.wallMs() } as const;
    await limits.pendingWrites.writeNowOrLater("the refusal of a request", async () => {
      job.record = (await ledger.apply(job.record, event)) ?? job.record;
    });
  }

  /**
   * Runs the actions of a record until the job ends. This process has the lease of the record, or the task has
   * succeeded and its audio is to be downloaded without the lease.
   *
   * @param hadFailedAttempt whether an earlier attempt had failed; if so, the job creates at most one new task
   */
  async #runActions(job: Job, hadFailedAttempt: boolean): Promise<JobOutcome> {
    const { clock, timing, limits } = this.#deps;
    let failureTiming: FailureTiming = "before_job";
    let alreadyFailedResponseCount = 0;
    for (;;) {
      const { purpose, mayRetryEarlierTask, newTaskCount } = job;
      const action = decideNextAction(job.record, {
        maySubmit:
          purpose === "submit" && (failureTiming !== "during_job" || (await this.#isNewAttemptWanted(job))),
        isOfNarration: job.narrationId !== null,
        mayRetryEarlierTask,
        failureTiming,
        hadFailedAttempt,
        newTaskCount,
        alreadyFailedResponseCount,
      });
      switch (action.kind) {
        case "send":
          // If another process created the task, it did so while this job waited for admission. A failure of that task
          // therefore counts as a failure during this job.
          failureTiming =
            (await sendUntilAnswered(job, this.#deps, this.#onConcurrencySlotsFull)) === "answered"
              ? "in_response"
              : "during_job";
          break;
        case "new_attempt": {
          if (action.wasSeenByThisJob) job.announce("The task failed and was refunded; trying once more.");
          if (failureTiming === "in_response") alreadyFailedResponseCount += 1;
          const { attempt: failedAttempt } = job.record;
          const error = action.wasSeenByThisJob ? undefined : toStoredError(taskFailedError(job.record));
          job.record = await applyEventWithRetry(job, this.#deps, {
            kind: "attempt_begun",
            failedAttempt,
            error,
          });
          break;
        }
        case "watch":
          await watchTask(job, this.#deps);
          failureTiming = "during_job";
          limits.submissions.wake();
          break;
        case "save": {
          const file = await saveTask(job, this.#deps);
          if (file === null) {
            // The service reported `succeeded` and then revoked this status, so poll again after the usual interval.
            await clock.sleep(timing.pollIntervalMs, job.signal);
          } else if (file.matchesFormat) return { kind: "saved", record: job.record, file };
          else return { kind: "error", error: wrongFormatError(job.record, file) };
          break;
        }
        case "end":
          return action.outcome === "failed" ? { kind: "failed", record: job.record } : { kind: "no_result" };
      }
    }
  }

  /**
   * Whether a caller still wants a new attempt after a failed task. The admission of the submission checks this again,
   * because an MCP task may be cancelled before the submission is sent.
   */
  async #isNewAttemptWanted({ record, hasOnlyMcpTaskCallers }: Job): Promise<boolean> {
    if (!hasOnlyMcpTaskCallers || record.status !== "failed") return true;
    return await this.#deps.ledger.store.mcpTasks.hasWanted(record.recordId).catch(() => true);
  }

  /**
   * Stops every job. Waits a short time for the response to a submission in progress. Accepted tasks stay in the
   * ledger.
   */
  async close(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { job } of running) job.stop();
    const allJobsDone = Promise.all(running.map(({ done }) => done));
    const sendTimer = setTimeout(() => {
      for (const { job } of running) job.abortSend();
    }, FINAL_RESPONSE_WAIT_MS);
    await allJobsDone;
    clearTimeout(sendTimer);
  }
}

function toAudioErrorWithIds(job: Job, error: unknown): AudioError {
  const audioError = error instanceof AudioError ? error : internalError(error);
  return audioError.withIds({
    taskId: job.record.taskId ?? undefined,
    idempotencyKey: job.record.idempotencyKey ?? undefined,
  });
}

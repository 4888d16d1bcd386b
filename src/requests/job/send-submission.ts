/**
 * Sends the submission of a record, and repeats it under the same key until the record has a task id. Each send needs
 * an admission: limits/submission-queue.ts waits for it, ledger/rules/admission.ts decides on it, and
 * ledger/store/admission-store.ts stores it.
 */
import type { ObservedTask } from "../../api/parse-task.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { SendOutcome } from "../../ledger/rules/api-key-state.ts";
import type { AdmissionWaitResult, QueuedSubmission } from "../../limits/submission-queue.ts";
import type { RequestDeps } from "../deps.ts";
import { applyEventWithRetry } from "./apply-event-with-retry.ts";
import {
  type AdmittedSubmission,
  type ResendWait,
  recordFailureAndAwaitResend,
} from "./failed-submission.ts";
import { type Job, NotWantedError } from "./job.ts";

/**
 * Sends the submission until the service accepts or refuses it, or the recovery timeout passes.
 *
 * @param onConcurrencySlotsFull called while both concurrency slots are taken. The listener resumes tasks that a dead
 *   process left running
 * @returns `answered` if this job's submission got a response; `task_of_other_process` if another process created the
 *   task
 * @throws AudioError for a refusal, `budget_exceeded`, `store_unavailable`, or the last failure
 */
export async function sendUntilAnswered(
  job: Job,
  deps: RequestDeps,
  onConcurrencySlotsFull: () => void,
): Promise<"answered" | "task_of_other_process"> {
  const recovery = new Deadline(deps.clock, deps.timing.recoveryTimeoutMs);
  let lastError: AudioError | null = null;
  let failureCount = 0;
  while (!recovery.isOver) {
    job.signal.throwIfAborted();
    const outcome = await waitForAdmissionUntilRecoveryTimeout(job, deps, recovery, onConcurrencySlotsFull);
    if (outcome === null) break;
    if (outcome.kind !== "admitted") {
      await reloadRecord(job, deps, outcome);
      if (job.record.taskId !== null) return "task_of_other_process";
      continue;
    }
    const error = await send(job, deps, outcome, failureCount, {
      recovery,
      resumeOthers: onConcurrencySlotsFull,
    });
    if (job.record.taskId !== null) return "answered";
    lastError = error;
    failureCount += 1;
  }
  throw (
    lastError ??
    new AudioError("wait_expired", "The service did not accept the request within 65 minutes.", {
      retryable: true,
      idempotencyKey: job.record.idempotencyKey ?? undefined,
      remedy: "Repeat the same call later: it is sent under the same key, so it never pays twice.",
    })
  );
}

/** Waits for admission; returns `null` if the recovery timeout passes first. */
async function waitForAdmissionUntilRecoveryTimeout(
  job: Job,
  { limits, clock }: RequestDeps,
  deadline: Deadline,
  onConcurrencySlotsFull: () => void,
): Promise<AdmissionWaitResult | null> {
  const expiry = new AbortController();
  const timer = new AbortController();
  deadline.waitUntilPassed(timer.signal).then(
    () => expiry.abort(),
    () => undefined,
  );
  const signal = AbortSignal.any([job.signal, expiry.signal]);
  try {
    const submission: QueuedSubmission = {
      record: job.record,
      // Skip the narration's checks for a submission that may have arrived. Such a submission is always sent again,
      // because its credits may already be reserved.
      narrationId: () => (job.mayHaveUnknownTask ? null : job.narrationId),
      hasOnlyMcpTaskCallers: () => job.hasOnlyMcpTaskCallers,
      onWaiting: (reason, waitMs) => {
        job.setPhase({ kind: "held", reason, untilMs: clock.steadyMs() + waitMs });
        if (reason === "concurrency") onConcurrencySlotsFull();
      },
    };
    const outcome = await limits.submissions.waitForAdmission(submission, signal);
    // Release the admission if the job was cancelled while the ledger was writing, because nothing has been sent yet.
    if (job.signal.aborted) await limits.submissions.releaseUnused(outcome);
    job.signal.throwIfAborted();
    return outcome;
  } catch (error) {
    if (expiry.signal.aborted && !job.signal.aborted) return null;
    throw error;
  } finally {
    timer.abort("ended");
  }
}

/** Loads a record again after another process has changed or deleted it. */
async function reloadRecord(
  job: Job,
  { ledger }: RequestDeps,
  outcome: Exclude<AdmissionWaitResult, AdmittedSubmission>,
): Promise<void> {
  if (outcome.kind === "not_wanted") throw new NotWantedError("nobody wants the submission any more");
  if (outcome.isLeaseLost) job.stop();
  job.signal.throwIfAborted();
  if (outcome.record === null) {
    // Another process had stored this request, the service refused it, and the record was deleted. Store the request
    // again.
    const { record, isOurs } = await ledger.acquireLease(job.record);
    if (!isOurs) job.stop();
    job.signal.throwIfAborted();
    job.record = record;
  } else job.record = outcome.record;
}

/**
 * Sends the submission once. After a success, the record has its task id. After a failure, returns only when the next
 * send is due.
 *
 * @returns the error to throw if no time is left for another send; `null` after a success, a 429 or a 503
 */
async function send(
  job: Job,
  deps: RequestDeps,
  admitted: AdmittedSubmission,
  earlierFailureCount: number,
  resend: ResendWait,
): Promise<AudioError | null> {
  const { service, limits, clock } = deps;
  job.record = admitted.record;
  const { input, idempotencyKey, attempt } = admitted.record;
  if (input === null || idempotencyKey === null) {
    await limits.submissions.releaseUnused(admitted);
    throw new AudioError("not_found", "This record holds no request that could be sent.");
  }
  const mayHaveEarlierTask = job.mayHaveUnknownTask;
  job.mayHaveUnknownTask = true;
  // Do not await anything between here and the request, so that a cancellation comes either before the send or after
  // it.
  job.setPhase({ kind: "sending", sinceMs: clock.steadyMs(), previousPhase: job.phase });
  const sendOutcome: SendOutcome = { sendId: admitted.sendId, outcome: "sent" };
  let task: ObservedTask;
  try {
    task = await service.submit(input, idempotencyKey, job.sendSignal);
  } catch (error) {
    limits.heartbeats.clearPending(admitted.sendId);
    if (!(error instanceof AudioError)) {
      await limits.pendingWrites.writeNowOrLater("the end of a submission", () =>
        deps.ledger.store.admissions.recordSendOutcome(sendOutcome),
      );
      throw error;
    }
    return await recordFailureAndAwaitResend(
      job,
      deps,
      admitted,
      error,
      earlierFailureCount + 1,
      mayHaveEarlierTask,
      resend,
    );
  }
  limits.heartbeats.clearPending(admitted.sendId);
  for (const deviation of task.deviations) deps.log.warn(`task ${task.taskId}: ${deviation}`);
  // Count the tasks that this job created. A failed task counts only if an earlier send of this job may have created
  // it. Otherwise an earlier call created the failed task under the same idempotency key.
  if (task.status !== "failed" || job.attemptWithLostResponse === attempt) job.newTaskCount += 1;
  // Store the task id before anything else.
  await applyEventWithRetry(
    job,
    deps,
    { kind: "observed", attempt, task, atMs: clock.wallMs() },
    { sendOutcome },
  );
  job.mayHaveUnknownTask = false;
  if (job.record.taskId !== null && job.record.taskId !== task.taskId) {
    deps.log.error(`the service answered one key with two tasks, ${job.record.taskId} and ${task.taskId}`);
  }
  job.signal.throwIfAborted();
  job.announce(`Accepted as task ${task.taskId}; 150 credits are reserved.`);
  return null;
}

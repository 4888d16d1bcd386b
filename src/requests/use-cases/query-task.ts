/** The use case of `get_task`: reports a task's status and waits for it. Sends no submission. */
import type { ObservedTask } from "../../api/parse-task.ts";
import { decideAfterFailedRead } from "../../api/retry.ts";
import type { Clock } from "../../clock.ts";
import { Deadline, runWithTimeout } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { fromStoredError } from "../../ledger/stored-error.ts";
import type { ReadWaitReason } from "../../limits/read-queue.ts";
import { type Call, type CallWithDeadline, startDeadline } from "../call.ts";
import type { RequestDeps } from "../deps.ts";
import { fetchTask, type QueryOptions } from "../job/fetch-task.ts";
import type { Job, JobOutcome } from "../job/job.ts";
import { type JobRunner, MAX_JOB_STARTS } from "../job/job-runner.ts";
import { describePhase } from "../job/phase.ts";
import { waitForJob } from "../job/wait-for-job.ts";
import { findSaved } from "../records/find-saved.ts";
import { buildRequestView, type RequestView } from "../records/request-view.ts";
import { assertTaskId, describeEarlierTask, resolveRecordOfTask } from "../records/resolve-record.ts";
import { buildSavedView } from "../records/saved-view.ts";
import { callTimedOutError, describeActivity } from "./generate.ts";

/**
 * Reports the status of a task. A call that may wait returns when the task has ended (and its audio is saved, if the
 * ledger knows the task), or when the wait is over. A failed task is a normal result.
 */
export async function queryTask(
  deps: RequestDeps,
  jobs: JobRunner,
  taskIdOrHandle: string,
  givenCall: Call,
): Promise<RequestView> {
  assertTaskId(taskIdOrHandle);
  const call = startDeadline(givenCall, deps.clock);
  const record = await runWithinDeadline(deps, call, taskIdOrHandle, (signal) =>
    resolveRecordOfTask(deps, taskIdOrHandle, signal, call.deadline),
  );
  if (record === null) return await pollExternalTask(deps, taskIdOrHandle, call);
  const view = await reportRecordedTask(deps, jobs, record, call);
  return { ...view, notes: [...describeEarlierTask(record, taskIdOrHandle), ...view.notes] };
}

async function reportRecordedTask(
  deps: RequestDeps,
  jobs: JobRunner,
  record: RequestRecord,
  call: CallWithDeadline,
): Promise<RequestView> {
  const savedFile = record.status === "succeeded" ? await findSaved(deps, record, record.fileName) : null;
  if (savedFile?.matchesFormat === true)
    return await buildSavedView(deps, record, { replayed: true, file: savedFile });
  // Do not try again to download audio above the size limit, because a status query must stay cheap.
  if (record.status === "failed" || record.isTooLarge) return buildRequestView(record, { replayed: true });
  throwIfRefused(jobs, record);
  if (record.taskId === null && call.waitMs === 0)
    return await resumeUnacceptedAndReport(deps, jobs, record, call);
  if (wasPolledRecently(record, call, deps)) {
    // Start the job or let it continue, even if nobody waits for it.
    jobs.start(record, "resume");
    return buildRequestView(record, { replayed: true });
  }
  const { job, outcome } = await runResumeJob(jobs, deps.clock, record, call);
  if (outcome?.kind === "error") throw outcome.error;
  if (outcome?.kind === "saved")
    return await buildSavedView(deps, outcome.record, { replayed: true, file: outcome.file });
  const activity = outcome === null ? describeActivity(job, deps) : null;
  return buildRequestView(outcome?.kind === "failed" ? outcome.record : job.record, {
    replayed: true,
    activity,
  });
}

/**
 * Throws the stored refusal of a request, unless a job is sending the request again.
 *
 * @throws AudioError the refusal, with its remedy
 */
function throwIfRefused(jobs: JobRunner, { recordId, refusal }: RequestRecord): void {
  if (refusal !== null && jobs.findRunning(recordId) === undefined) throw fromStoredError(refusal.error);
}

/**
 * Maximum wait until the lease is acquired or refused. This takes one ledger operation, whose result shows whether
 * another process drives the record.
 */
const MAX_LEASE_WAIT_MS = 1000;

/** Reports what is being done for a request without a task id. Sends nothing. */
async function resumeUnacceptedAndReport(
  deps: RequestDeps,
  jobs: JobRunner,
  record: RequestRecord,
  call: CallWithDeadline,
): Promise<RequestView> {
  const { job } = jobs.start(record, "resume");
  const leaseCall = { ...call, deadline: new Deadline(deps.clock, MAX_LEASE_WAIT_MS) };
  const outcome = await waitForJob(job, leaseCall, () => job.phase.kind !== "starting");
  const facts = { replayed: true, activity: outcome === null ? describeActivity(job, deps) : null };
  if (outcome?.kind === "saved")
    return await buildSavedView(deps, outcome.record, { ...facts, file: outcome.file });
  return buildRequestView(job.record, facts);
}

/**
 * Whether a call that does not wait can be answered from the ledger, because the task was polled within the last poll
 * interval.
 */
function wasPolledRecently(
  { polledAtMs, isGone }: RequestRecord,
  call: Call,
  { clock, timing }: RequestDeps,
): boolean {
  if (call.waitMs > 0 || isGone) return false;
  const sincePollMs = polledAtMs === null ? Number.POSITIVE_INFINITY : clock.wallMs() - polledAtMs;
  return sincePollMs >= 0 && sincePollMs < timing.pollIntervalMs;
}

/**
 * Returns when the task has ended or the call's wait is over. If the call has no wait, returns after the next response
 * of the service. Sends no submission.
 */
export async function runResumeJob(
  jobs: JobRunner,
  clock: Pick<Clock, "steadyMs">,
  record: RequestRecord,
  call: CallWithDeadline,
): Promise<{ job: Job; outcome: JobOutcome | null }> {
  for (let starts = 1; ; starts += 1) {
    const { job } = jobs.start(record, "resume");
    // A call that may wait uses all of its time, because a return without news would only make the model repeat the
    // call.
    const mayReturnEarly = (): boolean =>
      call.waitMs === 0 && (isHeldLonger(job, call, clock) || hasChanged(job, record));
    const outcome = await waitForJob(job, call, mayReturnEarly);
    if (outcome === null && call.waitMs === 0) throwIfQueryFailed(job);
    if (outcome?.kind !== "no_result" || job.record.taskId === null || starts === MAX_JOB_STARTS)
      return { job, outcome };
    call.signal.throwIfAborted();
  }
}

/** Whether the hold outlasts the call, so that waiting is pointless. */
function isHeldLonger(
  { phase }: Job,
  { deadline }: CallWithDeadline,
  clock: Pick<Clock, "steadyMs">,
): boolean {
  return phase.kind === "held" && phase.untilMs - clock.steadyMs() > deadline.leftMs;
}

function hasChanged({ phase, record }: Job, before: RequestRecord): boolean {
  const isKnown = record.polledAtMs !== before.polledAtMs || record.status !== before.status;
  return isKnown || phase.kind === "retrying";
}

/** Throws the error of the last query if that query failed. */
function throwIfQueryFailed({ phase, record }: Job): void {
  if (phase.kind === "retrying") throw phase.error.withIds({ taskId: record.taskId ?? undefined });
}

async function runWithinDeadline<T>(
  deps: RequestDeps,
  call: CallWithDeadline,
  taskId: string,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeoutError = (): AudioError => callTimedOutError(deps.ledger.store.outage, { taskId });
  const { clock } = deps;
  return await runWithTimeout(
    { clock, timeoutMs: call.deadline.leftMs, signal: call.signal, timeoutError },
    run,
  );
}

/** Polls a task that is not in this ledger, for this call only. Does not save its audio. */
async function pollExternalTask(
  deps: RequestDeps,
  taskId: string,
  call: CallWithDeadline,
): Promise<RequestView> {
  const { clock, timing, random } = deps;
  let task: ObservedTask | null = null;
  let activity: string | null = null;
  const onWaiting = (reason: ReadWaitReason, waitMs: number): void => {
    const untilMs = clock.steadyMs() + waitMs;
    activity = describePhase(
      { kind: "held", reason: `reads_${reason}`, untilMs },
      { taskId, status: "queued" },
      clock,
    );
    call.onProgress(activity);
  };
  for (let failures = 0; ; ) {
    const options: QueryOptions = { isPoll: task !== null, onWaiting, deadline: call.deadline };
    try {
      const observed: ObservedTask = await runWithinDeadline(deps, call, taskId, async (signal) => {
        return await fetchTask(deps, taskId, signal, options);
      });
      task = observed;
      activity = null;
      call.onProgress(`Task ${taskId} is ${observed.status}`);
      const hasEnded = observed.status === "succeeded" || observed.status === "failed";
      if (hasEnded || call.deadline.isOver || call.waitMs === 0)
        return buildExternalTaskView(observed, activity);
    } catch (error) {
      failures += 1;
      if (isOwnReadLimit(error) && task !== null) return buildExternalTaskView(task, error.message);
      const isFinal =
        isOwnReadLimit(error) ||
        !(error instanceof AudioError) ||
        decideAfterFailedRead(error, failures, random).kind === "stop";
      if (call.signal.aborted || isFinal) throw error;
      if (call.deadline.isOver || call.waitMs === 0) {
        if (task === null) throw error;
        return buildExternalTaskView(task, activity);
      }
      call.onProgress(`Task ${taskId} is not answering`);
    }
    const delayMs = Math.min(call.deadline.leftMs, timing.pollIntervalMs);
    await clock.sleep(Math.max(1, delayMs), call.signal);
  }
}

/**
 * Whether the error says that the read limit of this process would delay the query beyond the call's deadline. Such an
 * error has no HTTP status, unlike a 429 of the service.
 */
const isOwnReadLimit = (error: unknown): error is AudioError =>
  error instanceof AudioError && error.code === "rate_limit" && error.httpStatus === undefined;

function buildExternalTaskView(task: ObservedTask, activity: string | null): RequestView {
  return {
    taskId: task.taskId,
    requestHandle: null,
    status: task.status,
    isUnresolved: false,
    take: null,
    voice: null,
    idempotencyKey: null,
    replayed: true,
    billing: task.billing,
    audioSeconds: task.audioSeconds,
    audio: null,
    error: task.error,
    activity,
    notes: [],
  };
}

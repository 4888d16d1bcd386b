/**
 * The use case of `download_audio`: saves a finished task's audio as a verified file. Never waits for a task to
 * finish.
 */
import { isRunningStatus } from "../../contract/audio-task.ts";
import { type Deadline, runWithTimeout } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import { assertFileName, buildNumberedName } from "../../files/file-name.ts";
import { probeNameAvailability } from "../../files/name-availability.ts";
import { LAST_NUMBER } from "../../files/try-numbered-names.ts";
import { deriveExternalTaskFingerprint } from "../../ledger/identity.ts";
import { applyEvent } from "../../ledger/lifecycle.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { fromStoredError } from "../../ledger/stored-error.ts";
import { type Call, type CallWithDeadline, startDeadline } from "../call.ts";
import type { RequestDeps } from "../deps.ts";
import { chooseFileName } from "../file-names/choose-file-name.ts";
import { saveUnderName } from "../file-names/file-name-conflicts.ts";
import { fetchTask } from "../job/fetch-task.ts";
import type { JobRunner } from "../job/job-runner.ts";
import { waitForJob } from "../job/wait-for-job.ts";
import { findSaved } from "../records/find-saved.ts";
import { toRequestHandle } from "../records/request-handle.ts";
import type { RequestView } from "../records/request-view.ts";
import { assertTaskId, buildEmptyRecord, resolveRecordOfTask } from "../records/resolve-record.ts";
import { buildSavedView } from "../records/saved-view.ts";
import { taskFailedError } from "../records/task-failed-error.ts";
import { callTimedOutError } from "./generate.ts";
import { runResumeJob } from "./query-task.ts";

export interface DownloadRequest {
  readonly taskIdOrHandle: string;
  readonly fileName: string | null;
}

/**
 * Saves the task's audio under the wanted name. If `taskIdOrHandle` is the handle of a request whose send got no
 * response, first sends that request again. Both sends use the same idempotency key, so the request cannot be paid
 * twice.
 *
 * @throws AudioError `not_ready` while the task is unfinished, `task_failed`, `timeout` if the transfer outlasts the
 *   wait (the transfer continues), and errors of saving
 */
export async function downloadTask(
  deps: RequestDeps,
  jobs: JobRunner,
  request: DownloadRequest,
  givenCall: Call,
): Promise<RequestView> {
  const { taskIdOrHandle, fileName } = request;
  assertTaskId(taskIdOrHandle);
  if (fileName !== null) assertFileName(fileName);
  // All steps share one deadline. It does not depend on the wait of the caller.
  const call = startDeadline({ ...givenCall, waitMs: Math.max(1, deps.timing.transferWaitMs) }, deps.clock);
  const timeoutError = (): AudioError =>
    callTimedOutError(deps.ledger.store.outage, { taskId: taskIdOrHandle });
  const foundRecord = await runWithTimeout(
    { clock: deps.clock, timeoutMs: call.deadline.leftMs, signal: call.signal, timeoutError },
    async (signal) =>
      (await resolveRecordOfTask(deps, taskIdOrHandle, signal, call.deadline)) ??
      (await draftExternalTaskRecord(deps, taskIdOrHandle, signal, call.deadline)),
  );
  const savedFile = foundRecord.status === "succeeded" ? await findSaved(deps, foundRecord, fileName) : null;
  if (savedFile?.matchesFormat === true) {
    const file = await saveUnderName(deps, foundRecord, savedFile, { fileName, mayReplace: false });
    return await buildSavedView(deps, foundRecord, { replayed: true, file }, { fileName, mayReplace: false });
  }
  const record =
    foundRecord.taskId === null
      ? await resendUnresolved(jobs, foundRecord, call)
      : await refresh(deps, jobs, foundRecord, call);
  if (record.status === "failed") throw taskFailedError(record);
  if (record.status !== "succeeded") throw notReadyError(record);
  await deps.folder.ensureWritable();
  return await downloadAudio(deps, jobs, await setFileName(deps, jobs, record, fileName), fileName, call);
}

function notReadyError(record: Pick<RequestRecord, "taskId" | "status" | "recordId">): AudioError {
  const id = record.taskId ?? toRequestHandle(record);
  return new AudioError("not_ready", `Task ${id} is still ${record.status}.`, {
    retryable: true,
    taskId: id,
  });
}

/**
 * Sends a request again if its submission got no response. Throws if the request was never sent, because only
 * `generate_audio` may send a request for the first time.
 */
async function resendUnresolved(
  jobs: JobRunner,
  record: RequestRecord,
  call: CallWithDeadline,
): Promise<RequestRecord> {
  if (record.status !== "unresolved") {
    if (jobs.findRunning(record.recordId) !== undefined) throw notReadyError(record);
    if (record.refusal !== null) throw fromStoredError(record.refusal.error);
    throw new AudioError("not_ready", "This request has not been accepted yet, so there is no audio of it.", {
      taskId: toRequestHandle(record),
      remedy: "Repeat the generate_audio call that made it; nothing was charged.",
    });
  }
  const { job } = jobs.start(record, "submit");
  const outcome = await waitForJob(job, call, () => job.record.taskId !== null);
  if (outcome?.kind === "error") throw outcome.error;
  return outcome?.kind === "saved" || outcome?.kind === "failed" ? outcome.record : job.record;
}

/** Refreshes the status of an unfinished task: waits for one response of the service. */
async function refresh(
  deps: RequestDeps,
  jobs: JobRunner,
  record: RequestRecord,
  call: CallWithDeadline,
): Promise<RequestRecord> {
  const { polledAtMs } = record;
  const sincePollMs = polledAtMs === null ? Number.POSITIVE_INFINITY : deps.clock.wallMs() - polledAtMs;
  const isFresh = sincePollMs >= 0 && sincePollMs < deps.timing.pollIntervalMs && !record.isGone;
  if (!isRunningStatus(record.status)) return record;
  if (isFresh) {
    jobs.start(record, "resume");
    return record;
  }
  const { job, outcome } = await runResumeJob(jobs, deps.clock, record, { ...call, waitMs: 0 });
  if (outcome?.kind === "error") throw outcome.error;
  return outcome?.kind === "saved" || outcome?.kind === "failed" ? outcome.record : job.record;
}

/** Drafts a record for a task that was created outside this ledger. */
async function draftExternalTaskRecord(
  deps: RequestDeps,
  taskId: string,
  signal: AbortSignal,
  deadline: Deadline,
): Promise<RequestRecord> {
  const task = await fetchTask(deps, taskId, signal, { deadline });
  const empty = buildEmptyRecord(deps, {
    requestFingerprint: deriveExternalTaskFingerprint(deps.ledger.identity.baseUrl, taskId),
    input: null,
    originalPrompt: null,
    take: null,
    idempotencyKey: null,
    fileName: null,
    isListed: true,
  });
  const observed = { kind: "observed", attempt: 1, task, atMs: deps.clock.wallMs() } as const;
  // Do not write the record here. The job that saves the audio writes the record when the job acquires the lease.
  return applyEvent(empty, observed);
}

/** Sets the wanted name on the record, so that the audio is saved under it directly. */
async function setFileName(
  deps: RequestDeps,
  jobs: JobRunner,
  record: RequestRecord,
  fileName: string | null,
): Promise<RequestRecord> {
  if (fileName === null || jobs.findRunning(record.recordId) !== undefined) return record;
  await probeNameAvailability(deps.folder, buildNumberedName(chooseFileName(record, fileName), LAST_NUMBER));
  if (record.revision === 0) return { ...record, fileName };
  return (await deps.ledger.apply(record, { kind: "file_named", fileName, fileToReplace: null })) ?? record;
}

async function downloadAudio(
  deps: RequestDeps,
  jobs: JobRunner,
  record: RequestRecord,
  fileName: string | null,
  call: CallWithDeadline,
): Promise<RequestView> {
  const { job, outcome } = await runResumeJob(jobs, deps.clock, record, call);
  switch (outcome?.kind) {
    case "saved": {
      const file = await saveUnderName(deps, outcome.record, outcome.file, { fileName, mayReplace: false });
      return await buildSavedView(
        deps,
        outcome.record,
        { replayed: true, file },
        { fileName, mayReplace: false },
      );
    }
    case "error":
      throw outcome.error;
    case "failed":
      throw taskFailedError(outcome.record);
    case "no_result":
    case "not_wanted":
    case undefined: {
      // Throw the cause of the delay, because it is more useful than a time-out.
      const { phase } = job;
      if (phase.kind === "retrying") throw phase.error.withIds({ taskId: record.taskId ?? undefined });
      throw new AudioError("timeout", "The audio is still being downloaded; the transfer goes on.", {
        retryable: true,
        taskId: record.taskId ?? undefined,
      });
    }
  }
}

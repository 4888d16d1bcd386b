/** Owns the use case behind `download_audio`: a finished task's audio as a verified file; never waits for a task. */
import { AudioError } from "../errors.ts";
import { checkFileName } from "../files/file-name.ts";
import { precheckFileName } from "../files/save-audio.ts";
import type { TaskRecord } from "../ledger/record.ts";
import { NO_TASK_YET } from "./attempts.ts";
import type { GenerationDeps } from "./deps.ts";
import { findRecordOfTask } from "./find-record.ts";
import { finishTask } from "./finish-task.ts";
import { taskFailed, underName } from "./generate.ts";
import { foreignRecordId } from "./identity.ts";
import type { Jobs } from "./jobs.ts";
import { observe } from "./observe.ts";
import { checkTaskId, refreshed } from "./query-task.ts";
import { findSaved, unsoundError, wantedName } from "./saved-files.ts";
import { type TaskView, viewOf } from "./task-view.ts";
import type { Call } from "./wait-for-job.ts";
import { queryOnce } from "./watch-task.ts";
import { type OnWaiting, unansweredInTime, withinWindow } from "./within-window.ts";

/**
 * The task's audio, saved here under the wanted name.
 *
 * @throws AudioError `not_ready` while the task is unfinished, `task_failed`, `file_exists`, `timeout` when the
 *   transfer outlives the window (it goes on), and what saving throws
 */
export async function download(
  deps: GenerationDeps,
  jobs: Jobs,
  request: { taskId: string; fileName: string | null },
  call: Call,
): Promise<TaskView> {
  checkTaskId(request.taskId);
  if (request.fileName !== null) checkFileName(request.fileName);
  const known = await findRecordOfTask(deps, request.taskId);
  const saved = known?.status === "succeeded" ? await findSaved(deps, known, request.fileName) : null;
  if (known !== null && saved !== null) {
    if (!saved.isSound) throw unsoundError(known, saved);
    const named = await underName(deps, jobs, known, saved, request.fileName);
    return viewOf(known, { replayed: true, ...named });
  }
  const inTime = { ...call, windowMs: deps.timing.transferWaitMs };
  const record = await withinWindow(inTime, deps.clock, (signal, onWaiting) =>
    known === null
      ? recordForeignTask(deps, jobs, request.taskId, signal, onWaiting)
      : refreshed(deps, jobs, known, signal, onWaiting),
  );
  if (record === null) throw unansweredInTime({ taskId: request.taskId });
  if (record.status === "failed") throw taskFailed(record);
  if (record.status !== "succeeded") {
    jobs.start(record, "finish");
    throw notReady(record);
  }
  await deps.folder.ensureWritable();
  return await transfer(deps, jobs, await preferName(deps, jobs, record, request.fileName), request, call);
}

function notReady(record: { taskId: string | null; status: string }): AudioError {
  return new AudioError("not_ready", `Task ${record.taskId ?? "?"} is still ${record.status}.`, {
    retryable: true,
    taskId: record.taskId ?? undefined,
  });
}

/** A task made elsewhere enters the ledger when its audio is fetched, and not before. */
async function recordForeignTask(
  deps: GenerationDeps,
  jobs: Jobs,
  taskId: string,
  signal: AbortSignal,
  onWaiting: OnWaiting,
): Promise<TaskRecord> {
  const task = await queryOnce(deps, taskId, signal, { onWaiting });
  if (task.status === "queued" || task.status === "processing") throw notReady(task);
  const nowMs = deps.clock.wallMs();
  const id = foreignRecordId(deps.origin, taskId);
  const empty: TaskRecord = {
    version: 1,
    recordId: id,
    workId: id,
    origin: deps.origin,
    fingerprint: deps.fingerprint,
    input: null,
    take: null,
    attempt: 1,
    idempotencyKey: null,
    ...NO_TASK_YET,
    fileName: null,
    files: [],
    createdAtMs: nowMs,
  };
  const record = observe(empty, task, nowMs);
  return record.status === "failed" ? record : await jobs.book.add(record);
}

/** A free wanted name becomes the record's own, so that the audio is saved under it at once. */
async function preferName(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  fileName: string | null,
): Promise<TaskRecord> {
  if (fileName === null || jobs.running(record.recordId) !== undefined) return record;
  if ((await precheckFileName(deps.folder, wantedName(record, fileName))) === "taken") return record;
  return await jobs.book.update(record.recordId, (before) => ({ ...before, fileName }));
}

async function transfer(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  request: { fileName: string | null },
  call: Call,
): Promise<TaskView> {
  const windowMs = Math.max(1, deps.timing.transferWaitMs);
  const { job, end } = await finishTask(deps, jobs, record, { ...call, windowMs });
  switch (end?.kind) {
    case "saved": {
      const named = await underName(deps, jobs, end.record, end.file, request.fileName);
      return viewOf(end.record, { replayed: true, ...named });
    }
    case "error":
      throw end.error;
    case "failed":
      throw taskFailed(end.record);
    case "left":
    case undefined:
      // What stands in the way says more than the time that has passed.
      if (job.lastError !== null) throw job.lastError.withIds({ taskId: record.taskId ?? undefined });
      throw new AudioError("timeout", "The audio is still being downloaded; the transfer goes on.", {
        retryable: true,
        taskId: record.taskId ?? undefined,
      });
  }
}

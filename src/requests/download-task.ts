/** The use case of `download_audio`: saves a finished task's audio as a verified file. Does not wait for a task's end. */
import { isRunning } from "../contract/audio-task.ts";
import { AudioError } from "../errors.ts";
import { assertFileName, buildNumberedName } from "../files/file-name.ts";
import { LAST_NUMBER, probeNameAvailability } from "../files/free-names.ts";
import { patchRequest } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { fromStoredError } from "../ledger/stored-error.ts";
import { queryForCall } from "./adopt-task.ts";
import { restoreError } from "./attend.ts";
import { beginRequest } from "./begin.ts";
import { type Call, type CallWithDeadline, runWithinCall, startDeadline } from "./call.ts";
import type { RequestDeps } from "./deps.ts";
import { assertTaskId, resolveNamedRequest } from "./find-task.ts";
import { deliver, type RequestContext } from "./generate.ts";
import { isOver } from "./job.ts";
import { resumeAndWait, throwIfReadFailed } from "./look-up-task.ts";
import { parseNote } from "./note.ts";
import { buildExternalRequest } from "./prepare-request.ts";
import { toRequestHandle } from "./request-handle.ts";
import { type RequestView, toListedStatus } from "./request-view.ts";
import { chooseFileName, findOrReopenAudio, findSavedAudio } from "./saved-audio.ts";
import { taskFailedError } from "./task-failed-error.ts";

export interface DownloadRequest {
  readonly taskIdOrHandle: string;
  readonly fileName: string | null;
}

/**
 * Saves a task's audio under the wanted name. The handle of a request whose send got no answer is sent again first,
 * under its key, so that it cannot be paid twice.
 *
 * @throws AudioError `not_ready` while the task is unfinished, `task_failed`, `timeout` if the transfer outlasts the
 *   wait (it goes on), and errors of saving
 */
export async function downloadTask(
  context: RequestContext,
  { taskIdOrHandle, fileName }: DownloadRequest,
  givenCall: Call,
): Promise<RequestView> {
  const { deps } = context;
  assertTaskId(taskIdOrHandle);
  if (fileName !== null) assertFileName(fileName);
  // The transfer's wait is a setting, because the caller states none.
  const call = startDeadline({ ...givenCall, waitMs: Math.max(1, deps.timing.transferWaitMs) }, deps.clock);
  const saveOptions = { fileName, mayReplace: false };
  const find = async (signal: AbortSignal): Promise<RequestRow> => {
    const named = await resolveNamedRequest(deps, taskIdOrHandle, signal, call.deadline);
    return named?.row ?? (await beginExternalTask(deps, taskIdOrHandle, signal, call));
  };
  const named = await runWithinCall(deps, call, find, taskIdOrHandle);
  const {
    file,
    rows: [found = named],
  } = await findOrReopenAudio(deps, [named], fileName);
  if (file !== null) return await deliver(context, found, file, { replayed: true }, saveOptions);
  const row =
    found.task_id === null ? await resend(context, found, call) : await refresh(context, found, call);
  if (row.status === "failed") throw taskFailedError(row);
  if (row.status !== "succeeded" && row.status !== "saved") throw notReadyError(row);
  await deps.folder.ensureWritable();
  const renamed = await setFileName(context, row, fileName);
  const ended = await resumeAndWait(context, renamed, call);
  const saved = await findSavedAudio(deps, [ended], fileName);
  if (saved !== null) return await deliver(context, ended, saved, { replayed: true }, saveOptions);
  if (ended.status === "failed") throw taskFailedError(ended);
  const error = restoreError(ended);
  if (error !== null) throw error;
  // The cause of the delay says more than a time-out.
  const note = parseNote(ended);
  const ids = { taskId: ended.task_id ?? undefined };
  if (note?.error !== undefined) throw fromStoredError(note.error).withIds(ids);
  throw new AudioError("timeout", "The audio is still being downloaded; the transfer goes on.", {
    retryable: true,
    ...ids,
  });
}

function notReadyError(row: RequestRow): AudioError {
  const id = row.task_id ?? toRequestHandle(row.id);
  return new AudioError("not_ready", `Task ${id} is still ${toListedStatus(row)}.`, {
    retryable: true,
    taskId: id,
  });
}

/** Sends a request again whose answer was lost. Only `generate_audio` may send one for the first time. */
async function resend(
  { deps, driver, attendance }: RequestContext,
  row: RequestRow,
  call: CallWithDeadline,
): Promise<RequestRow> {
  if (row.status !== "unresolved") {
    if (driver.isDriving(row.id)) throw notReadyError(row);
    const refusal = restoreError(row);
    if (refusal !== null) throw refusal;
    throw new AudioError("not_ready", "This request has not been accepted yet, so there is no audio of it.", {
      taskId: toRequestHandle(row.id),
      remedy: "Repeat the generate_audio call that made it; nothing was charged.",
    });
  }
  const begun = await beginRequest(
    deps.ledger,
    { ...row, is_listed: 1 },
    { wish: { kind: "call" }, mayBeginAttempt: false },
  );
  driver.ensure(row.id);
  const sent = await attendance.attend(begun.row, {
    call,
    wishId: begun.wishId,
    mustDrive: true,
    isDone: (current) => current.task_id !== null || isOver(current),
  });
  const error = restoreError(sent);
  if (error !== null) throw error;
  return sent;
}

/** Refreshes how an unfinished task stands: waits for one answer of the service. */
async function refresh(
  context: RequestContext,
  row: RequestRow,
  call: CallWithDeadline,
): Promise<RequestRow> {
  if (!isRunning(row.status)) return row;
  const now = await resumeAndWait(context, row, { ...call, waitMs: 0 });
  const error = restoreError(now);
  if (error !== null) throw error;
  throwIfReadFailed(row, now);
  return now;
}

/** Stores a task that was made outside this ledger, and that it did not pay for. */
async function beginExternalTask(
  deps: RequestDeps,
  taskId: string,
  signal: AbortSignal,
  { deadline }: CallWithDeadline,
): Promise<RequestRow> {
  const task = await queryForCall(deps, taskId, signal, deadline);
  const fresh = buildExternalRequest(deps, taskId, task);
  return (await beginRequest(deps.ledger, fresh, { wish: null, mayBeginAttempt: false })).row;
}

/** Sets the wanted name, so that the audio is saved under it directly. */
async function setFileName(
  { deps, driver }: RequestContext,
  row: RequestRow,
  fileName: string | null,
): Promise<RequestRow> {
  if (fileName === null || driver.isDriving(row.id)) return row;
  await probeNameAvailability(deps.folder, buildNumberedName(chooseFileName(row, fileName), LAST_NUMBER));
  const name = { file_name: fileName, replaces: null, is_listed: 1 };
  await deps.ledger.database.tx((tx) => patchRequest(tx, row, name));
  return { ...row, ...name };
}

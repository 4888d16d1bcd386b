/** The use case of `get_task`: says how a task stands, and waits for it. Sends no submission. */
import type { ObservedTask } from "../api/parse-task.ts";
import { decideAfterFailure } from "../api/retry.ts";
import { isRunning } from "../contract/audio-task.ts";
import { AudioError } from "../errors.ts";
import { readSincePollMs } from "../ledger/read-limits.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { fromStoredError } from "../ledger/stored-error.ts";
import { queryForCall } from "./adopt-task.ts";
import { findActivity, restoreError } from "./attend.ts";
import { type Call, type CallWithDeadline, runWithinCall, startDeadline } from "./call.ts";
import { assertTaskId, resolveNamedRequest } from "./find-task.ts";
import { deliver, type RequestContext } from "./generate.ts";
import { isOver } from "./job.ts";
import { parseNote } from "./note.ts";
import { buildExternalRequest } from "./prepare-request.ts";
import { buildRequestView, type RequestView } from "./request-view.ts";
import { findOrReopenAudio, findSavedAudio } from "./saved-audio.ts";

const NO_NAME = { fileName: null, mayReplace: false } as const;

/** Reports a task. A call that may wait returns when it has ended and is saved. A failed task is a normal result. */
export async function getTask(
  context: RequestContext,
  taskIdOrHandle: string,
  givenCall: Call,
): Promise<RequestView> {
  assertTaskId(taskIdOrHandle);
  const { deps } = context;
  const call = startDeadline(givenCall, deps.clock);
  const named = await runWithinCall(
    deps,
    call,
    (signal) => resolveNamedRequest(deps, taskIdOrHandle, signal, call.deadline),
    taskIdOrHandle,
  );
  if (named === null) return await pollExternalTask(context, taskIdOrHandle, call);
  const view = await reportTask(context, named.row, call);
  return { ...view, notes: [...named.notes, ...view.notes] };
}

async function reportTask(
  context: RequestContext,
  named: RequestRow,
  call: CallWithDeadline,
): Promise<RequestView> {
  const { deps, driver } = context;
  const facts = { replayed: true };
  const {
    file,
    short,
    rows: [row = named],
  } = await findOrReopenAudio(deps, [named], named.file_name);
  if (file !== null) return await deliver(context, row, file, facts, NO_NAME);
  // A look must stay cheap: audio above the limit is not downloaded again.
  if (row.status === "failed" || row.error_code === "too_large") return buildRequestView(row, facts);
  const refusal = restoreError(row);
  if (refusal !== null && row.status === "waiting" && !driver.isDriving(row.id)) throw refusal;
  const current = await resumeAndWait(context, row, call);
  // While the rest cannot be had, what is here is still the audio of the task.
  const saved = (await findSavedAudio(deps, [current], current.file_name)) ?? short;
  if (saved !== null) return await deliver(context, current, saved, facts, NO_NAME);
  if (current.status === "failed") return buildRequestView(current, facts);
  const error = restoreError(current);
  if (error !== null && (current.task_id !== null || current.status === "waiting")) throw error;
  if (call.waitMs === 0) throwIfReadFailed(row, current);
  return buildRequestView(current, { ...facts, activity: await findActivity(deps, current, driver) });
}

/** Throws the error of the last query or download if it is of this call. */
export function throwIfReadFailed(before: RequestRow, row: RequestRow): void {
  const note = parseNote(row);
  if (row.note === before.note || (note?.kind !== "query" && note?.kind !== "download")) return;
  if (note.error !== undefined)
    throw fromStoredError(note.error).withIds({ taskId: row.task_id ?? undefined });
}

/**
 * Lets an accepted task be watched and saved, and waits for its end. A call without a wait returns after the next
 * answer of the service. A request that was not accepted is only looked at.
 */
export async function resumeAndWait(
  { deps, driver, attendance }: RequestContext,
  row: RequestRow,
  call: CallWithDeadline,
): Promise<RequestRow> {
  const isAccepted = row.task_id !== null && row.api_key_id === deps.ledger.identity.apiKeyId;
  const isGivenUp = row.error_code !== null;
  if (isAccepted) driver.ensure(row.id, { retriesErrors: true });
  if (call.waitMs === 0 && (!isAccepted || (!isGivenUp && (await wasPolledRecently(deps, row))))) return row;
  return await attendance.attend(row, {
    call,
    wishId: null,
    mustDrive: isAccepted,
    isDone: async (current) => {
      // The error of an earlier start stays in the row until the driver has begun.
      if (isOver(current) && (current.error !== row.error || !driver.isDriving(row.id))) return true;
      if (current.status === "saved") return (await findSavedAudio(deps, [current], null)) !== null;
      return call.waitMs === 0 && hasNews(current, row, call, deps.clock.wallMs());
    },
  });
}

/** Whether the service has answered since, or a hold outlasts the call. */
function hasNews(row: RequestRow, before: RequestRow, call: CallWithDeadline, nowMs: number): boolean {
  if (row.polled_steady_ms !== before.polled_steady_ms || row.status !== before.status) return true;
  const note = parseNote(row);
  if (note === null || row.note === before.note) return false;
  if (note.kind === "query" || note.kind === "download") return true;
  return (note.untilMs ?? 0) - nowMs > call.deadline.leftMs;
}

/** Whether a call that does not wait can be answered from the row. */
async function wasPolledRecently(
  { ledger, timing }: RequestContext["deps"],
  row: RequestRow,
): Promise<boolean> {
  if (!isRunning(row.status)) return false;
  return (await readSincePollMs(ledger, row.id)) < timing.pollIntervalMs;
}

/** Polls a task that is not in this ledger, for this call only. Does not save its audio. */
async function pollExternalTask(
  context: RequestContext,
  taskId: string,
  call: CallWithDeadline,
): Promise<RequestView> {
  const { clock, timing, random } = context.deps;
  const buildView = (observed: ObservedTask, activity: string | null): RequestView => {
    const row = buildExternalRequest(context.deps, taskId, observed);
    return { ...buildRequestView(row, { replayed: true, activity }), requestHandle: null };
  };
  let task: ObservedTask | null = null;
  for (let failures = 0; ; ) {
    let delayMs = timing.pollIntervalMs;
    try {
      const isPoll = task !== null;
      const observed: ObservedTask = await runWithinCall(
        context.deps,
        call,
        (signal) => queryForCall(context.deps, taskId, signal, call.deadline, isPoll),
        taskId,
      );
      task = observed;
      call.onProgress(`Task ${taskId} is ${observed.status}`);
      const hasEnded = observed.status === "succeeded" || observed.status === "failed";
      if (hasEnded || call.deadline.isOver || call.waitMs === 0) return buildView(observed, null);
    } catch (error) {
      failures += 1;
      if (isOwnReadLimit(error) && task !== null) return buildView(task, error.message);
      if (call.signal.aborted || isOwnReadLimit(error) || !(error instanceof AudioError)) throw error;
      const decision = decideAfterFailure(error, failures, random);
      if (decision.kind === "stop") throw error;
      if ("delayMs" in decision) delayMs = Math.max(delayMs, decision.delayMs * timing.timeScale);
      if (call.deadline.isOver || call.waitMs === 0) {
        if (task === null) throw error;
        return buildView(task, null);
      }
      call.onProgress(`Task ${taskId} is not answering`);
    }
    await clock.sleep(Math.max(1, Math.min(call.deadline.leftMs, delayMs)), call.signal);
  }
}

/** Whether the limit of reads would delay the query beyond the call's deadline. A 429 has an HTTP status. */
const isOwnReadLimit = (error: unknown): error is AudioError =>
  error instanceof AudioError && error.code === "rate_limit" && error.httpStatus === undefined;

/** Owns the use case behind `get_task`: how a task stands, and waiting for it; creates nothing. */

import { decideRead } from "../api/retry.ts";
import type { ObservedTask } from "../api/service.ts";
import { isTaskId } from "../contract/wire.ts";
import { AudioError } from "../errors.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";
import { findRecordOfTask } from "./find-record.ts";
import { finishTask } from "./finish-task.ts";
import { goneError, markGone } from "./gone.ts";
import type { Job } from "./job.ts";
import { describeTrouble } from "./job-messages.ts";
import type { Jobs } from "./jobs.ts";
import { heldBack, isHeldBack, staleNote } from "./read-wait.ts";
import { findSaved, unsoundError } from "./saved-files.ts";
import { type TaskView, viewOf } from "./task-view.ts";
import type { Call } from "./wait-for-job.ts";
import { queryOnce, recordObservation } from "./watch-task.ts";
import { type OnWaiting, unansweredInTime, withinWindow } from "./within-window.ts";

export function checkTaskId(taskId: string): void {
  if (isTaskId(taskId)) return;
  throw new AudioError(
    "invalid_request",
    "task_id must be an id that this server returned: letters, digits and . _ : - only, 256 at most.",
    { remedy: "Use the task_id of an earlier result; list_tasks shows them." },
  );
}

/** A task of the ledger, as fresh as one poll interval: asked for only if nobody has asked since. */
export async function refreshed(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  signal: AbortSignal,
  onWaiting: OnWaiting,
): Promise<TaskRecord> {
  if (record.isGone) throw goneError(record);
  if (record.taskId === null || record.finishedAtMs !== null) return record;
  const running = jobs.running(record.recordId);
  const sincePollMs = record.polledAtMs === null ? Infinity : deps.clock.wallMs() - record.polledAtMs;
  if (sincePollMs >= 0 && sincePollMs < deps.timing.pollIntervalMs) return record;
  const isAsking = running?.lastError === null && running.readHold === null;
  if (running !== undefined && isAsking) return running.record;
  try {
    const task = await queryOnce(deps, record.taskId, signal, { onWaiting });
    return await recordObservation(deps, jobs.book, record, task);
  } catch (error) {
    if (error instanceof AudioError && error.code === "not_found") {
      throw await markGone(deps, jobs.book, record);
    }
    throw error;
  }
}

/**
 * As {@link refreshed}; where the service does not answer in time, or not yet to a call that waits, what the ledger
 * knows. Where it may not even be asked within the call, `held` says so.
 */
async function refreshedInTime(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  call: Call,
): Promise<{ current: TaskRecord; held: AudioError | null }> {
  try {
    const seen = await withinWindow(call, deps.clock, (signal, onWaiting) =>
      refreshed(deps, jobs, record, signal, onWaiting),
    );
    return { current: seen ?? record, held: null };
  } catch (error) {
    if (isHeldBack(error)) return { current: record, held: error };
    const mayPass = error instanceof AudioError && error.retryable && call.windowMs > 0;
    if (!mayPass || call.signal.aborted) throw error;
    return { current: record, held: null };
  }
}

/**
 * How a task stands; with a window, how it stands when it has ended (and its audio is saved, if this ledger
 * saves it) or when the window closes. A failed task is a normal result.
 */
export async function getTask(
  deps: GenerationDeps,
  jobs: Jobs,
  taskId: string,
  call: Call,
): Promise<TaskView> {
  checkTaskId(taskId);
  const record = await findRecordOfTask(deps, taskId);
  if (record === null) return await getForeignTask(deps, taskId, call);
  const saved = record.status === "succeeded" ? await findSaved(deps, record, record.fileName) : null;
  if (saved?.isSound === true) return viewOf(record, { replayed: true, file: saved });
  if (saved !== null) throw unsoundError(record, saved);
  const startedAtMs = deps.clock.steadyMs();
  const { current, held } = await refreshedInTime(deps, jobs, record, call);
  if (current.status === "failed") return viewOf(current, { replayed: true });
  if (call.windowMs === 0 || held !== null) {
    jobs.start(current, "finish");
    return viewOf(current, { replayed: true, notes: held === null ? [] : [staleNote(held)] });
  }
  const windowMs = Math.max(1, call.windowMs - (deps.clock.steadyMs() - startedAtMs));
  const { job, end } = await finishTask(deps, jobs, current, { ...call, windowMs });
  if (end?.kind === "error") throw end.error;
  const file = end?.kind === "saved" ? end.file : null;
  return viewOf(end?.kind === "saved" || end?.kind === "failed" ? end.record : job.record, {
    replayed: true,
    file,
    notes: file === null ? [...describeTrouble(job), ...holdNotes(deps, job)] : [],
  });
}

function holdNotes(deps: GenerationDeps, { readHold }: Job): string[] {
  if (readHold === null) return [];
  return [staleNote(heldBack(readHold.reason, readHold.untilMs - deps.clock.steadyMs()))];
}

/** A task that this ledger did not make: polled for this call alone, and not saved. */
async function getForeignTask(deps: GenerationDeps, taskId: string, call: Call): Promise<TaskView> {
  const endsAtMs = deps.clock.steadyMs() + call.windowMs;
  let task: ObservedTask | null = null;
  for (let failures = 0; ; ) {
    let isAnswered = false;
    const isPoll: boolean = task !== null;
    try {
      const leftMs = call.windowMs > 0 ? Math.max(1, endsAtMs - deps.clock.steadyMs()) : 0;
      const inTime = { ...call, windowMs: leftMs };
      const seen: ObservedTask | null = await withinWindow(inTime, deps.clock, (signal, onWaiting) =>
        queryOnce(deps, taskId, signal, { isPoll, onWaiting }),
      );
      isAnswered = seen !== null;
      task = seen ?? task;
      if (task === null) throw unansweredInTime({ taskId });
    } catch (error) {
      if (isHeldBack(error)) {
        if (task === null) throw error;
        return viewOfForeign(task, [staleNote(error)]);
      }
      failures += 1;
      const isFinal =
        !(error instanceof AudioError) || decideRead(error, failures, deps.random).kind === "stop";
      if (isFinal || call.signal.aborted || deps.clock.steadyMs() >= endsAtMs) throw error;
    }
    const leftMs = endsAtMs - deps.clock.steadyMs();
    const hasEnded = task?.status === "succeeded" || task?.status === "failed";
    if (task !== null && (hasEnded || leftMs <= 0)) return viewOfForeign(task, []);
    call.onProgress(`Task ${taskId} is ${isAnswered ? task?.status : "not answering"}`);
    await deps.clock.sleep(Math.max(1, Math.min(leftMs, deps.timing.pollIntervalMs)), call.signal);
  }
}

function viewOfForeign(task: ObservedTask, notes: readonly string[]): TaskView {
  return {
    taskId: task.taskId,
    status: task.status,
    take: null,
    idempotencyKey: null,
    replayed: true,
    billing: task.billing,
    audioSeconds: task.audioSeconds,
    audio: null,
    error: task.error,
    hold: null,
    notes,
  };
}

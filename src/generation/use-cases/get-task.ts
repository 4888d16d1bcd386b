/** The use case behind `get_task`: how a task stands, and waiting for it; creates nothing. */

import { decideRead } from "../../api/retry.ts";
import type { ObservedTask } from "../../api/service.ts";
import { withDeadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { askService } from "../job/ask-service.ts";
import type { Job, JobEnd } from "../job/job.ts";
import type { Jobs } from "../job/jobs.ts";
import { describe } from "../job/phase.ts";
import { type Call, type OpenCall, openCall, waitForJob } from "../job/wait-for-job.ts";
import { findSaved } from "../saved-files.ts";
import { type TaskView, viewOf } from "../task-view.ts";
import { checkTaskId, findRecordOfTask } from "./find-record.ts";
import { activityOf, unansweredInTime } from "./generate.ts";

/**
 * How a task stands; with a window, how it stands when it has ended (and its audio is saved, if this ledger
 * saves it) or when the window closes. A failed task is a normal result.
 */
export async function getTask(
  deps: GenerationDeps,
  jobs: Jobs,
  taskId: string,
  givenCall: Call,
): Promise<TaskView> {
  checkTaskId(taskId);
  const call = openCall(givenCall, deps.clock);
  const record = await inTime(deps, call, taskId, (signal) => findRecordOfTask(deps, taskId, signal));
  if (record === null) return await getForeignTask(deps, taskId, call);
  const saved = record.status === "succeeded" ? await findSaved(deps, record, record.fileName) : null;
  if (saved?.isSound === true) return viewOf(record, { replayed: true, file: saved });
  if (record.status === "failed" || isFresh(record, call, deps)) {
    // Its job goes on, or begins, whether somebody waits for it or not.
    if (record.status !== "failed") jobs.start(record, "finish");
    return viewOf(record, { replayed: true });
  }
  const { job, end } = await finish(deps, jobs, record, call);
  if (end?.kind === "error") throw end.error;
  if (end?.kind === "saved") return viewOf(end.record, { replayed: true, file: end.file });
  const activity = end === null ? activityOf(job, deps) : null;
  return viewOf(end?.kind === "failed" ? end.record : job.record, { replayed: true, activity });
}

/** A call that does not wait is answered from the ledger where somebody has asked within a poll interval. */
function isFresh(
  { polledAtMs, taskId, isGone }: TaskRecord,
  call: Call,
  { clock, timing }: GenerationDeps,
): boolean {
  if (call.windowMs > 0 || isGone) return false;
  if (taskId === null) return true;
  const sincePollMs = polledAtMs === null ? Number.POSITIVE_INFINITY : clock.wallMs() - polledAtMs;
  return sincePollMs >= 0 && sincePollMs < timing.pollIntervalMs;
}

/** A job that has nothing to do for a while, or is somebody else's, may end before it has brought anything. */
const MOST_STARTS = 3;

/**
 * Waits for the end of a task within the call; one without a window waits for the service's next word alone. Never
 * creates.
 */
export async function finish(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  call: OpenCall,
): Promise<{ job: Job; end: JobEnd | null }> {
  for (let starts = 1; ; starts += 1) {
    const { job } = jobs.start(record, "finish");
    const isEnough = call.windowMs > 0 ? () => false : () => hasNews(job, record);
    const end = await waitForJob(job, call, isEnough);
    if (end === null && call.windowMs === 0) throwIfSilent(job);
    if (end?.kind !== "left" || job.record.taskId === null || starts === MOST_STARTS) return { job, end };
    call.signal.throwIfAborted();
  }
}

function hasNews(job: Job, before: TaskRecord): boolean {
  const { phase, record } = job;
  const isKnown = record.polledAtMs !== before.polledAtMs || record.status !== before.status;
  return isKnown || phase.kind === "retrying" || (phase.kind === "held" && phase.reason !== "reads_rate");
}

/** The service was to be asked now, and could not be. */
function throwIfSilent({ phase, record }: Job): void {
  if (phase.kind === "retrying") throw phase.error.withIds({ taskId: record.taskId ?? undefined });
}

async function inTime<T>(
  { clock }: GenerationDeps,
  call: OpenCall,
  taskId: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = (): AudioError => unansweredInTime({ taskId });
  return await withDeadline({ clock, ms: call.deadline.leftMs, signal: call.signal, late }, work);
}

/** A task that this ledger did not make: polled for this call alone, and not saved. */
async function getForeignTask(deps: GenerationDeps, taskId: string, call: OpenCall): Promise<TaskView> {
  const { clock, timing, random } = deps;
  let task: ObservedTask | null = null;
  let activity: string | null = null;
  for (let failures = 0; ; ) {
    const isPoll: boolean = task !== null;
    try {
      const answer = await inTime(deps, call, taskId, (signal) =>
        askService(deps, taskId, signal, {
          isPoll,
          onWaiting: (reason, waitMs) => {
            const phase = {
              kind: "held",
              reason: `reads_${reason}`,
              untilMs: clock.steadyMs() + waitMs,
            } as const;
            activity = describe(phase, { taskId, status: "queued" }, clock);
            call.onProgress(activity);
          },
        }),
      );
      task = answer.task;
      activity = null;
      call.onProgress(`Task ${taskId} is ${task.status}`);
    } catch (error) {
      failures += 1;
      const isFinal = !(error instanceof AudioError) || decideRead(error, failures, random).kind === "stop";
      if (call.signal.aborted || isFinal) throw error;
      if (call.deadline.isOver || call.windowMs === 0) {
        if (task === null) throw error;
        return viewOfForeign(task, activity);
      }
      call.onProgress(`Task ${taskId} is not answering`);
    }
    const hasEnded = task?.status === "succeeded" || task?.status === "failed";
    if (task !== null && (hasEnded || call.deadline.isOver || call.windowMs === 0)) {
      return viewOfForeign(task, activity);
    }
    const pauseMs = Math.min(call.deadline.leftMs, timing.pollIntervalMs);
    await clock.sleep(Math.max(1, pauseMs), call.signal);
  }
}

function viewOfForeign(task: ObservedTask, activity: string | null): TaskView {
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
    activity,
    notes: [],
  };
}

/** Owns watching an accepted task until it ends (design 6.6); never creates and never saves. */
import { decideRead } from "../api/retry.ts";
import type { ObservedTask } from "../api/service.ts";
import { AudioError } from "../errors.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { ReadOptions } from "../limits/limits.ts";
import type { GenerationDeps } from "./deps.ts";
import { markGone } from "./gone.ts";
import type { Job } from "./job.ts";
import { describeWatch } from "./job-messages.ts";
import { countedCharge, observe } from "./observe.ts";
import { describeReadWait } from "./read-wait.ts";
import type { RecordBook } from "./record-book.ts";

/** One query within the shared budget of reads. A 429 pauses every process's reads before it is thrown on. */
export async function queryOnce(
  deps: GenerationDeps,
  taskId: string,
  signal: AbortSignal,
  options: ReadOptions = {},
): Promise<ObservedTask> {
  try {
    return await deps.limits.read(signal, () => askOnce(deps, taskId, signal), options);
  } catch (error) {
    throw error instanceof AudioError ? error.withIds({ taskId }) : error;
  }
}

async function askOnce(deps: GenerationDeps, taskId: string, signal: AbortSignal): Promise<ObservedTask> {
  try {
    return await deps.service.query(taskId, signal);
  } catch (error) {
    const decision = error instanceof AudioError ? decideRead(error, 1, deps.random) : null;
    if (decision?.kind === "limited") await deps.limits.pause("reads", decision.retryAfterSeconds);
    throw error;
  }
}

/**
 * Writes an observed task into the record that asked for it; an ended one first gives back its slot and settles
 * its reservation. A crash in between is mended by the next poll; the other way round nobody would look again.
 */
export async function recordObservation(
  deps: GenerationDeps,
  book: RecordBook,
  asked: TaskRecord,
  task: ObservedTask,
): Promise<TaskRecord> {
  for (const oddity of task.oddities) deps.log.warn(`task ${task.taskId}: ${oddity}`);
  if (task.status === "succeeded" || task.status === "failed") {
    await deps.limits.endTask(asked.recordId, asked.attempt, countedCharge(task));
  }
  return await book.update(asked.recordId, (before) =>
    // Somebody may have begun a new attempt meanwhile: then this is no news of it.
    before.taskId === task.taskId ? observe(before, task, deps.clock.wallMs()) : before,
  );
}

/**
 * Tells the limits how a task stands that this process did not accept or watch: whoever did may have died before
 * it could. Safe to repeat.
 */
async function takeUp(deps: GenerationDeps, record: TaskRecord): Promise<void> {
  const { recordId, attempt, status } = record;
  if (status === "queued" || status === "processing") await deps.limits.noteInFlight(recordId, attempt);
  else await deps.limits.endTask(recordId, attempt, countedCharge(record));
}

/**
 * Polls the job's task on its grid until it has succeeded or failed.
 *
 * @throws AudioError `not_found` (recorded, so that no repeat pays again), `invalid_api_key`, or `wait_expired`
 *   after the recovery window; resets, time-outs, 429 and 503 are waited out
 */
export async function watchTask(job: Job, deps: GenerationDeps, book: RecordBook): Promise<void> {
  const { clock, timing } = deps;
  const beganAtMs = clock.steadyMs();
  if (!job.hasCreated) await takeUp(deps, job.record);
  let nextPollMs = nextPollAfter(job, deps);
  let failures = 0;
  while (job.record.status === "queued" || job.record.status === "processing") {
    await clock.sleep(Math.max(0, nextPollMs - clock.steadyMs()), job.signal);
    const taskId = job.record.taskId;
    if (taskId === null) throw new AudioError("not_found", "The record of this task holds no id.");
    try {
      const task = await queryOnce(deps, taskId, job.signal, {
        isPoll: true,
        onWaiting: (reason, waitMs) => {
          job.readHold = { reason, untilMs: clock.steadyMs() + waitMs };
          job.announce(describeReadWait(reason, waitMs));
        },
      });
      job.readHold = null;
      failures = 0;
      job.lastError = null;
      job.record = await recordObservation(deps, book, job.record, task);
    } catch (error) {
      if (job.signal.aborted || !(error instanceof AudioError)) throw error;
      job.readHold = null;
      failures += 1;
      await survive(job, deps, book, error, failures);
    }
    const nowMs = clock.steadyMs();
    job.announce(job.lastError?.message ?? describeWatch(job.record, nowMs - beganAtMs));
    if (nowMs - beganAtMs > timing.recoveryMs && job.record.finishedAtMs === null) {
      throw new AudioError("wait_expired", `Task ${taskId} did not end within the recovery window.`, {
        retryable: true,
        taskId,
      });
    }
    // The grid is kept (no drift by the query's own time), but a poll that came late is not made up for.
    nextPollMs = Math.max(nextPollMs + timing.pollIntervalMs, nowMs);
  }
}

/** A task that somebody polled less than an interval ago is not due yet, whoever that was. */
function nextPollAfter(job: Job, deps: GenerationDeps): number {
  const { clock, timing } = deps;
  const polledAtMs = job.record.polledAtMs;
  const sincePollMs = polledAtMs === null ? timing.pollIntervalMs : clock.wallMs() - polledAtMs;
  // A wall clock that was set back must not put the next poll off: then one is simply due.
  const waitMs = sincePollMs < 0 ? 0 : Math.max(0, timing.pollIntervalMs - sincePollMs);
  return clock.steadyMs() + waitMs;
}

async function survive(
  job: Job,
  deps: GenerationDeps,
  book: RecordBook,
  error: AudioError,
  failures: number,
): Promise<void> {
  if (error.code === "not_found") {
    throw await markGone(deps, book, job.record);
  }
  const decision = decideRead(error, failures, deps.random);
  if (decision.kind === "stop") throw error;
  job.lastError = error;
  // The poll grid is the pause between tries; only a backoff longer than it adds to it. A 429 has paused the gate.
  if (decision.kind === "retry" || decision.kind === "unavailable") {
    const extraMs = decision.delayMs * deps.timing.scale - deps.timing.pollIntervalMs;
    if (extraMs > 0) await deps.clock.sleep(extraMs, job.signal);
  }
}

/** The step that polls an accepted task until it has ended. */
import type { ObservedTask } from "../api/parse-task.ts";
import { decideAfterFailure } from "../api/retry.ts";
import { isRunning } from "../contract/audio-task.ts";
import { AudioError } from "../errors.ts";
import { isAway, LeaseLostError } from "../ledger/ledger.ts";
import { runTransaction } from "../ledger/open-transaction.ts";
import { readSincePollMs, requestRead, startReadCooldown } from "../ledger/read-limits.ts";
import { type RequestPatch, writeAsDriver } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { toStoredError } from "../ledger/stored-error.ts";
import type { RequestDeps } from "./deps.ts";
import { retryFailed, type StepDeps, toObservedPatch, writeNote } from "./job.ts";
import { buildNote } from "./note.ts";
import { getIds } from "./stored-input.ts";

/** A single 404 may come from a replica that lags. */
const NOT_FOUND_ANSWERS_UNTIL_GONE = 2;

/** The error for a task that the service no longer knows. */
export function goneError(row: RequestRow): AudioError {
  return new AudioError("not_found", `The service does not know task ${row.task_id ?? "?"} (any more).`, {
    httpStatus: 404,
    ...getIds(row),
    remedy: {
      assistant:
        "Repeating this call will not pay again: it asks the service once more. If the audio is still wanted, ask the user first, then call generate_audio with the next take number: that is a new task and costs credits.",
      terminal:
        "The same command asks the service once more, free. If it stays unknown, only another take makes the audio again, which is paid for.",
    },
  });
}

/**
 * Waits until a query or download may leave.
 *
 * @param onHold called with the reason and the milliseconds to wait; may throw to end the waiting
 */
export async function waitForRead(
  deps: Pick<RequestDeps, "ledger" | "clock">,
  isPoll: boolean,
  signal: AbortSignal,
  onHold: (reason: "rate" | "cooldown", waitMs: number) => Promise<void> | void,
): Promise<void> {
  for (;;) {
    const hold = await requestRead(deps.ledger, isPoll);
    if (hold === null) return;
    if (hold.reason !== "pace") await onHold(hold.reason, hold.waitMs);
    await deps.clock.sleep(Math.min(hold.waitMs, 2000), signal);
  }
}

/**
 * Queries a task once. A 429 pauses the reads of the account and is then thrown.
 *
 * @param failureCount number of queries in a row that have failed so far
 */
export async function queryTask(
  deps: Pick<RequestDeps, "service" | "ledger" | "log" | "random" | "timing">,
  taskId: string,
  signal: AbortSignal,
  failureCount = 0,
): Promise<ObservedTask> {
  try {
    const task = await deps.service.query(taskId, signal);
    for (const deviation of task.deviations) deps.log.warn(`task ${task.taskId}: ${deviation}`);
    return task;
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    await pauseReadsAfter(deps, error, failureCount + 1);
    throw error.withIds({ taskId });
  }
}

/**
 * Pauses the reads of the account if the service asked for it.
 *
 * @param failureCount number of reads in a row that have failed so far, at least 1
 */
export async function pauseReadsAfter(
  { ledger, random, timing }: Pick<RequestDeps, "ledger" | "random" | "timing">,
  error: AudioError,
  failureCount: number,
): Promise<boolean> {
  const decision = error.httpStatus === undefined ? null : decideAfterFailure(error, failureCount, random);
  if (decision?.kind !== "rate_limited") return false;
  await startReadCooldown(ledger, decision.pauseMs * timing.timeScale);
  return true;
}

/** Writes what a poll has shown, and when. */
const writeWatched = (deps: StepDeps, row: RequestRow, patch: RequestPatch): Promise<RequestRow> =>
  runTransaction(deps.ledger, (open) =>
    writeAsDriver(open, row, { ...patch, polled_steady_ms: open.nowSteadyMs }),
  );

/** A query that will not be answered otherwise: the API key does not work. */
const isFinal = ({ code }: AudioError): boolean => code === "invalid_api_key";

/**
 * Polls until the task has ended. Gives up after a 401, after two 404s in a row, and after 65 minutes.
 *
 * @returns the row after the end; `null` if the task failed for good
 * @throws AudioError `not_found`, `invalid_api_key`, `wait_expired`
 */
export async function watchTask(deps: StepDeps, watched: RequestRow): Promise<RequestRow | null> {
  const { job, ledger, clock, timing, random } = deps;
  const endMs = clock.steadyMs() + timing.recoveryTimeoutMs;
  let row = watched;
  let notFoundCount = job.wasGone ? NOT_FOUND_ANSWERS_UNTIL_GONE - 1 : 0;
  let failureCount = 0;
  let nextPollMs =
    clock.steadyMs() + Math.max(0, timing.pollIntervalMs - (await readSincePollMs(ledger, row.id)));
  for (;;) {
    await clock.sleep(Math.max(0, nextPollMs - clock.steadyMs()), job.signal);
    let extraMs = 0;
    try {
      await waitForRead(deps, true, job.signal, async (reason, waitMs) => {
        row = await writeNote(deps, row, { kind: `reads_${reason}`, untilMs: clock.wallMs() + waitMs });
      });
      const { task_id: taskId } = row;
      if (taskId === null) throw new AudioError("not_found", "The row of this task holds no id.");
      const task = await queryTask(deps, taskId, job.signal, failureCount);
      notFoundCount = 0;
      failureCount = 0;
      const nowMs = clock.wallMs();
      const note =
        task.unknownStatus === undefined
          ? null
          : buildNote(row, { kind: "unknown_status", status: task.unknownStatus, untilMs: null }, nowMs);
      // The service knows the id, so the answer to the submission has named it rightly.
      const patch = { ...toObservedPatch(keepRank(task, row), row, nowMs), note, send_id: null };
      row = await deps.persistRow(() => writeWatched(deps, row, patch));
    } catch (error) {
      if (job.signal.aborted || !(error instanceof AudioError) || error instanceof LeaseLostError)
        throw error;
      if (isFinal(error) || isAway(error)) throw error;
      if (error.code === "not_found") notFoundCount += 1;
      if (notFoundCount >= NOT_FOUND_ANSWERS_UNTIL_GONE) {
        deps.line.wake();
        throw goneError(row);
      }
      failureCount += 1;
      const decision = decideAfterFailure(error, failureCount, random);
      const delayMs = "delayMs" in decision ? decision.delayMs * timing.timeScale : 0;
      deps.log.info(`task ${row.task_id} could not be queried: ${error.code}`);
      extraMs = Math.max(0, delayMs - timing.pollIntervalMs);
      const untilMs = clock.wallMs() + Math.max(timing.pollIntervalMs, extraMs);
      row = await writeNote(deps, row, { kind: "query", error: toStoredError(error), untilMs });
    }
    if (row.status === "failed") return await retryFailed(deps, row, false);
    if (!isRunning(row.status)) {
      deps.line.wake();
      return row;
    }
    if (clock.steadyMs() > endMs) {
      throw new AudioError("wait_expired", `Task ${row.task_id ?? "?"} did not end within 65 minutes.`, {
        retryable: true,
      });
    }
    if (extraMs > 0) await clock.sleep(extraMs, job.signal);
    // Counted from the planned time of the last poll, so that the length of a query causes no drift.
    nextPollMs = Math.max(nextPollMs + timing.pollIntervalMs, clock.steadyMs());
  }
}

/** A replica that lags must not take `processing` back to `queued`. */
const keepRank = (task: ObservedTask, { status }: RequestRow): ObservedTask =>
  status === "processing" && task.status === "queued" ? { ...task, status } : task;

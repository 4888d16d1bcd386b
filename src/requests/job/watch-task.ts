/** Polls an accepted task until it has succeeded or failed. */
import type { ObservedTask } from "../../api/parse-task.ts";
import { decideAfterFailedRead } from "../../api/retry.ts";
import { isRunningStatus } from "../../contract/audio-task.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { RequestDeps } from "../deps.ts";
import { applyEventWithRetry } from "./apply-event-with-retry.ts";
import { fetchTask } from "./fetch-task.ts";
import type { Job } from "./job.ts";
import { NOT_FOUND_RESPONSES_UNTIL_GONE, recordGoneAndBuildError } from "./missing-task.ts";

/**
 * Polls until the task has ended. Gives up after a 401, after two 404s without a success in between, at the end of the
 * recovery timeout, or after the ledger was unavailable for a whole recovery timeout. After any other response, polls
 * again.
 *
 * @throws AudioError `not_found` once the record is marked as gone, `invalid_api_key`, `store_unavailable`, or
 *   `wait_expired`
 */
export async function watchTask(job: Job, deps: RequestDeps): Promise<void> {
  const { clock, timing } = deps;
  const sinceMs = clock.steadyMs();
  const recovery = new Deadline(clock, timing.recoveryTimeoutMs);
  // If the record is already marked as gone, one more 404 is enough.
  let notFoundCount = job.record.isGone ? NOT_FOUND_RESPONSES_UNTIL_GONE - 1 : 0;
  let failures = 0;
  let nextPollSteadyMs = computeNextPollSteadyMs(job, deps);
  if (isRunning(job)) job.setPhase({ kind: "watching", sinceMs });
  while (isRunning(job)) {
    await clock.sleep(Math.max(0, nextPollSteadyMs - clock.steadyMs()), job.signal);
    let extraMs = 0;
    try {
      const { unknownStatus } = await poll(job, deps);
      notFoundCount = 0;
      failures = 0;
      job.setPhase({ kind: "watching", sinceMs, unknownStatus });
    } catch (error) {
      if (job.signal.aborted || !(error instanceof AudioError) || isFinal(error)) throw error;
      if (error.code === "not_found") notFoundCount += 1;
      if (notFoundCount >= NOT_FOUND_RESPONSES_UNTIL_GONE) throw await recordGoneAndBuildError(job, deps);
      failures += 1;
      const decision = decideAfterFailedRead(error, failures, deps.random);
      // Between two tries the job waits for the poll interval, or for the backoff if that is longer. After a 429,
      // `fetchTask` has already started a cooldown of the reads of this process.
      const delayMs = "delayMs" in decision ? decision.delayMs * timing.timeScale : 0;
      extraMs = Math.max(0, delayMs - timing.pollIntervalMs);
      const untilMs = Math.max(nextPollSteadyMs + timing.pollIntervalMs, clock.steadyMs() + extraMs);
      job.setPhase({ kind: "retrying", error, untilMs });
    }
    if (recovery.isOver && isRunning(job)) throw waitExpiredError(job);
    if (extraMs > 0) await clock.sleep(extraMs, job.signal);
    // Count the interval from the planned time of the last poll, so that the duration of a query causes no drift.
    // Missed polls are skipped.
    nextPollSteadyMs = Math.max(nextPollSteadyMs + timing.pollIntervalMs, clock.steadyMs());
  }
}

const isRunning = ({ record }: Job): boolean => isRunningStatus(record.status);

/**
 * Whether polling again is pointless: the API key does not work, or the ledger was unavailable for a whole recovery
 * timeout.
 */
const isFinal = ({ code }: AudioError): boolean => code === "invalid_api_key" || code === "store_unavailable";

async function poll(job: Job, deps: RequestDeps): Promise<ObservedTask> {
  const { clock } = deps;
  const { taskId, attempt } = job.record;
  if (taskId === null) throw new AudioError("not_found", "The record of this task holds no id.");
  const task = await fetchTask(deps, taskId, job.signal, {
    isPoll: true,
    onWaiting: (reason, waitMs) =>
      job.setPhase({ kind: "held", reason: `reads_${reason}`, untilMs: clock.steadyMs() + waitMs }),
  });
  await applyEventWithRetry(job, deps, { kind: "observed", attempt, task, atMs: clock.wallMs() });
  return task;
}

function waitExpiredError({ record: { taskId } }: Job): AudioError {
  return new AudioError("wait_expired", `Task ${taskId ?? "?"} did not end within 65 minutes.`, {
    retryable: true,
    taskId: taskId ?? undefined,
  });
}

/** Returns the steady-clock time of the next poll: one interval after the last poll of any process. */
function computeNextPollSteadyMs(job: Job, { clock, timing }: RequestDeps): number {
  const { polledAtMs, isGone } = job.record;
  if (isGone || polledAtMs === null) return clock.steadyMs();
  const sincePollMs = clock.wallMs() - polledAtMs;
  // A negative time since the last poll means that the wall clock was set back. Poll at once, because the true time is
  // unknown.
  const waitMs = sincePollMs < 0 ? 0 : Math.max(0, timing.pollIntervalMs - sincePollMs);
  return clock.steadyMs() + waitMs;
}

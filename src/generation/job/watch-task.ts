/** Polls an accepted task on its grid until it has succeeded or failed. */
import { decideRead } from "../../api/retry.ts";
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { GenerationDeps } from "../deps.ts";
import { askService } from "./ask-service.ts";
import { giveUpGone, MISSES_UNTIL_GONE } from "./gone.ts";
import type { Job } from "./job.ts";
import { persist } from "./persist.ts";
import type { Aimed } from "./poll-aim.ts";
import { type ServicePace, speechSecondsOf } from "./service-pace.ts";

/**
 * Nothing but a 401, a confirmed 404, the end of the recovery window and a ledger that is away for as long stops it:
 * whatever else the service or something in between answers, the task is asked for again.
 *
 * @param pace learns from this task when it was accepted just now, and says where its grid of polls begins
 * @throws AudioError `not_found` (recorded), `invalid_api_key`, `store_unavailable`, or `wait_expired`
 */
export async function watchTask(job: Job, deps: GenerationDeps, pace: ServicePace): Promise<void> {
  const { clock } = deps;
  const watched = isJustAccepted(job) ? await beginAimed(job, clock, pace) : null;
  try {
    await watch(job, deps, watched);
  } finally {
    watched?.aimed.leave();
  }
}

async function watch(job: Job, deps: GenerationDeps, watched: Watched | null): Promise<void> {
  const { clock, timing } = deps;
  const sinceMs = clock.steadyMs();
  const recovery = new Deadline(clock, timing.recoveryMs);
  // A task that was given up before needs no second 404 to be given up again.
  let misses = job.record.isGone ? MISSES_UNTIL_GONE - 1 : 0;
  let failures = 0;
  let nextPollMs = nextPollAfter(job, deps, watched?.aimed.firstPollMs);
  if (isRunning(job)) job.enter({ kind: "watching", sinceMs });
  while (isRunning(job)) {
    await clock.sleep(Math.max(0, nextPollMs - clock.steadyMs()), job.signal);
    let extraMs = 0;
    try {
      await poll(job, deps, watched);
      misses = 0;
      failures = 0;
      job.enter({ kind: "watching", sinceMs });
    } catch (error) {
      if (job.signal.aborted || !(error instanceof AudioError) || isFinal(error)) throw error;
      if (error.code === "not_found") misses += 1;
      if (misses >= MISSES_UNTIL_GONE) throw await giveUpGone(job, deps);
      failures += 1;
      const decision = decideRead(error, failures, deps.random);
      // The poll grid is the pause between tries; only a longer backoff adds to it. A 429 has paused all reads.
      const delayMs = "delayMs" in decision ? decision.delayMs * timing.scale : 0;
      extraMs = Math.max(0, delayMs - timing.pollIntervalMs);
      const untilMs = Math.max(nextPollMs + timing.pollIntervalMs, clock.steadyMs() + extraMs);
      job.enter({ kind: "retrying", error, untilMs });
    }
    if (recovery.isOver && isRunning(job)) throw waitExpired(job);
    if (extraMs > 0) await clock.sleep(extraMs, job.signal);
    // The grid is kept (no drift by the query's own time), but a poll that came late is not made up for.
    nextPollMs = Math.max(nextPollMs + timing.pollIntervalMs, clock.steadyMs());
  }
}

const isRunning = ({ record: { status } }: Job): boolean => status === "queued" || status === "processing";

/** The key does not work, or the ledger was away for longer than anybody waits. */
const isFinal = ({ code }: AudioError): boolean => code === "invalid_api_key" || code === "store_unavailable";

/** A task that this process saw accepted: how long it takes is worth knowing. */
interface Watched {
  readonly aimed: Aimed;
  readonly acceptedAtMs: number;
}

/** Nobody has asked for it since the create was answered. */
const isJustAccepted = ({ record: { status, acceptedAtMs, polledAtMs } }: Job): boolean =>
  status === "queued" && acceptedAtMs !== null && acceptedAtMs === polledAtMs;

async function beginAimed({ record }: Job, clock: Clock, pace: ServicePace): Promise<Watched> {
  const aim = await pace.aim();
  const sinceMs = Math.max(0, clock.wallMs() - (record.polledAtMs ?? 0));
  return {
    aimed: aim.begin(record.taskId ?? "", speechSecondsOf(record)),
    acceptedAtMs: clock.steadyMs() - sinceMs,
  };
}

async function poll(job: Job, deps: GenerationDeps, watched: Watched | null): Promise<void> {
  const { clock } = deps;
  const askedAtMs = clock.steadyMs();
  const { taskId, attempt } = job.record;
  if (taskId === null) throw new AudioError("not_found", "The record of this task holds no id.");
  const task = await askService(deps, taskId, job.signal, {
    isPoll: true,
    onWaiting: (reason, waitMs) =>
      job.enter({ kind: "held", reason: `reads_${reason}`, untilMs: clock.steadyMs() + waitMs }),
  });
  if (watched !== null) {
    if (task.status === "succeeded") watched.aimed.ended(clock.steadyMs() - watched.acceptedAtMs);
    else if (task.status !== "failed") watched.aimed.ran(askedAtMs - watched.acceptedAtMs);
  }
  await persist(job, deps, { kind: "observed", attempt, task, atMs: clock.wallMs() });
}

function waitExpired({ record: { taskId } }: Job): AudioError {
  return new AudioError("wait_expired", `Task ${taskId ?? "?"} did not end within the recovery window.`, {
    retryable: true,
    taskId: taskId ?? undefined,
  });
}

/** A task that somebody polled less than an interval ago is not due yet, whoever that was. */
function nextPollAfter(job: Job, { clock, timing }: GenerationDeps, pauseMs = timing.pollIntervalMs): number {
  const { polledAtMs, isGone } = job.record;
  if (isGone || polledAtMs === null) return clock.steadyMs();
  const sincePollMs = clock.wallMs() - polledAtMs;
  // A wall clock that was set back must not put the next poll off: then one is simply due.
  const waitMs = sincePollMs < 0 ? 0 : Math.max(0, pauseMs - sincePollMs);
  return clock.steadyMs() + waitMs;
}

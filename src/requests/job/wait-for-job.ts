/** Waits for a job on behalf of one caller: deadline, progress and cancellation. */
import type { Clock } from "../../clock.ts";
import { AudioError } from "../../errors.ts";
import { type CallWithDeadline, SUBMISSION_RESPONSE_WAIT_MS } from "../call.ts";
import type { Job, JobOutcome } from "./job.ts";

/**
 * Waits for the end of the job, and returns its outcome. Returns `null` if the call's time ends first, or if
 * `mayReturnEarly` returns true first.
 *
 * @param mayReturnEarly checked at the start and on each message of the job
 * @throws the signal's reason when the client cancels
 */
export async function waitForJob(
  job: Job,
  call: CallWithDeadline,
  mayReturnEarly: () => boolean = () => false,
): Promise<JobOutcome | null> {
  const timer = new AbortController();
  const signal = AbortSignal.any([call.signal, timer.signal]);
  let stopListening = (): void => undefined;
  const earlyReturn = new Promise<null>((resolve) => {
    const check = (): void => {
      if (mayReturnEarly()) resolve(null);
    };
    stopListening = job.addListener((message) => {
      call.onProgress(message);
      check();
    });
    check();
  });
  const hasMcpTask = call.mcpTaskPreparation !== undefined;
  job.addCaller(hasMcpTask);
  let isCancelled = false;
  try {
    call.signal.throwIfAborted();
    const deadlinePassed = call.deadline.waitUntilPassed(signal).then(() => null);
    return await Promise.race([job.outcome, earlyReturn, deadlinePassed]);
  } catch (error) {
    isCancelled = call.signal.aborted;
    throw error;
  } finally {
    timer.abort("ended");
    stopListening();
    job.removeCaller(isCancelled, hasMcpTask);
  }
}

/**
 * A hold is long if more than this time is left of it. A call that does not wait for audio returns during a long hold,
 * but stays open during a shorter hold.
 */
const LONG_HOLD_MS = SUBMISSION_RESPONSE_WAIT_MS;

/** Whether a call that does not wait for audio can return, because there is a task id or a long hold. */
export function canReturnWithoutAudio(job: Job, clock: Pick<Clock, "steadyMs">): boolean {
  const { phase, record } = job;
  return record.taskId !== null || (phase.kind === "held" && phase.untilMs - clock.steadyMs() > LONG_HOLD_MS);
}

/**
 * How long a send after a hold may wait for its response before {@link throwIfUnreachable} reports that the service has
 * not answered.
 */
const UNANSWERED_SEND_AFTER_MS = 5000;

/** Throws if the service could not be reached before the call's time was over. */
export function throwIfUnreachable({ record, phase }: Job, clock: Pick<Clock, "steadyMs">): void {
  if (record.taskId !== null) return;
  const ids = { idempotencyKey: record.idempotencyKey ?? undefined };
  const lastPhase = phase.kind === "sending" ? phase.previousPhase : phase;
  if (lastPhase.kind === "retrying") throw lastPhase.error.withIds(ids);
  if (phase.kind !== "sending") return;
  const isSilent = clock.steadyMs() - phase.sinceMs >= UNANSWERED_SEND_AFTER_MS;
  if (phase.previousPhase.kind === "held" && !isSilent) return;
  throw new AudioError("timeout", "The service has not answered the request yet.", {
    retryable: true,
    ...ids,
  });
}

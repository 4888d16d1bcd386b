/** Owns one caller's waiting for a job: window, progress, cancellation (design 6.8); never changes what the job does. */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Job, JobEnd } from "./job.ts";

/** One tool call, as the workflow sees it. */
export interface Call {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** How long the call may take before it hands back what it knows; never scaled. */
  readonly windowMs: number;
  readonly onProgress: (message: string) => void;
}

/** A call that does not wait for audio still waits this long for the service's answer to its create. */
export const ANSWER_WINDOW_MS = 10_000;

/**
 * Waits until the job ends, the window closes (`null`), or, for a window of 0, the service has answered.
 *
 * @throws the signal's reason when the client cancels
 */
export async function waitForJob(job: Job, call: Call, clock: Clock): Promise<JobEnd | null> {
  const timer = new AbortController();
  const signal = AbortSignal.any([call.signal, timer.signal]);
  let stopListening = (): void => undefined;
  const answered = new Promise<null>((resolve) => {
    const check = (): void => {
      if (call.windowMs > 0) return;
      const isHeldLong = job.hold !== null && job.hold.waitMs > ANSWER_WINDOW_MS;
      if (job.record.taskId !== null || isHeldLong) resolve(null);
    };
    stopListening = job.listen((message) => {
      call.onProgress(message);
      check();
    });
    check();
  });
  job.attach();
  let isCancelled = false;
  try {
    call.signal.throwIfAborted();
    const windowMs = call.windowMs > 0 ? call.windowMs : ANSWER_WINDOW_MS;
    const closed = clock.sleep(windowMs, signal).then(() => null);
    return await Promise.race([job.end, answered, closed]);
  } catch (error) {
    isCancelled = call.signal.aborted;
    throw error;
  } finally {
    timer.abort();
    stopListening();
    job.detach(isCancelled);
  }
}

/** A send that has been without an answer for this long is silence, whatever the service said before. */
const SILENCE_MS = 5000;

/** The window closed before the service took the request: an error where it could not be reached, nothing where it holds us back. */
export function throwIfUnreachable(job: Job, clock: Clock): void {
  const silentMs = job.sentAtSteadyMs === null ? 0 : clock.steadyMs() - job.sentAtSteadyMs;
  const isHeldBack = job.hold !== null && silentMs < SILENCE_MS;
  if (job.record.taskId !== null || isHeldBack) return;
  const ids = { idempotencyKey: job.record.idempotencyKey ?? undefined };
  if (job.lastError !== null) throw job.lastError.withIds(ids);
  throw new AudioError("timeout", "The service has not answered the request yet.", {
    retryable: true,
    ...ids,
  });
}

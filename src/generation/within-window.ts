/** Owns the bound on what a call asks the service before it waits for a job; knows no question. */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { ReadOptions } from "../limits/limits.ts";
import { describeReadWait, heldBack } from "./read-wait.ts";
import { ANSWER_WINDOW_MS, type Call } from "./wait-for-job.ts";

/** Looking into the ledger takes its time too, however short the window is. */
const SHORTEST_MS = 1000;

export type OnWaiting = NonNullable<ReadOptions["onWaiting"]>;

/**
 * Runs work no longer than the call may take (and {@link ANSWER_WINDOW_MS} where it does not wait for audio): a
 * pause that the service asked for, or a service that says nothing, must not keep the caller.
 *
 * @param work gets a signal that also aborts when the window closes, and whom to tell of a wait for the service: one
 *   that outlasts the window ends the work at once, with `rate_limit` and the seconds to come back after
 * @returns `null` when the window closed first
 */
export async function withinWindow<T>(
  call: Pick<Call, "signal" | "windowMs" | "onProgress">,
  clock: Clock,
  work: (signal: AbortSignal, onWaiting: OnWaiting) => Promise<T>,
): Promise<T | null> {
  const windowMs = call.windowMs > 0 ? Math.max(call.windowMs, SHORTEST_MS) : ANSWER_WINDOW_MS;
  const closing = new AbortController();
  const over = new AbortController();
  const endsAtMs = clock.steadyMs() + windowMs;
  const onWaiting: OnWaiting = (reason, waitMs) => {
    if (waitMs > endsAtMs - clock.steadyMs()) closing.abort(heldBack(reason, waitMs));
    else call.onProgress(describeReadWait(reason, waitMs));
  };
  const working = work(AbortSignal.any([call.signal, closing.signal]), onWaiting);
  const closed = clock.sleep(windowMs, over.signal).then(() => {
    closing.abort(new Error("the window of the call has closed"));
    return null;
  });
  // Whichever loses the race is of no interest any more.
  for (const either of [working, closed]) either.catch(() => undefined);
  try {
    return await Promise.race([working, closed]);
  } finally {
    over.abort();
  }
}

/** The service has not answered in the time that the call has. */
export function unansweredInTime(ids: { taskId?: string; idempotencyKey?: string | undefined }): AudioError {
  return new AudioError("timeout", "The service could not be asked within the time of this call.", {
    retryable: true,
    ...ids,
  });
}

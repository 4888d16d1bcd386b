/** Limits the time of a call, because a disk that hangs returns neither a result nor an error. */
import { z } from "zod";
import { type Clock, systemClock } from "../clock.ts";
import { runWithTimeout } from "../deadline.ts";
import { AudioError } from "../errors.ts";

/**
 * Time that a call may take in addition to its wait. The default wait plus this time is below the time limits of hosts.
 */
const GRACE_SECONDS = 10;

/**
 * Minimum time limit of a call. Even a call with a wait of 0 s waits for the response to its submission, and then needs
 * time to write the response to the ledger.
 */
const MIN_SECONDS = 20;

const waitSchema = z.object({ wait_seconds: z.number().nonnegative() });

/** Returns how long a call may wait with these arguments, in seconds. */
export const parseWaitSeconds = (args: unknown, defaultWaitSeconds: number): number =>
  waitSchema.safeParse(args).data?.wait_seconds ?? defaultWaitSeconds;

/** Returns the time limit of a call with this wait, in seconds. */
export const computeMaxCallSeconds = (waitSeconds: number): number =>
  Math.max(MIN_SECONDS, waitSeconds + GRACE_SECONDS);

/**
 * Runs a call with a time limit.
 *
 * @param run makes the call; the signal passed to it aborts when `signal` aborts or the time is over
 * @throws AudioError `timeout` when the time is over
 */
export async function runWithCallTimeout<T>(
  seconds: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<T> {
  const timeoutError = (): AudioError =>
    new AudioError(
      "timeout",
      `No answer within ${seconds} s: the disk of the output folder or of the ledger does not answer. What the service has accepted stays recorded.`,
      {
        retryable: true,
        remedy:
          "Tell the user that the disk does not answer. When it does, repeat the same call: it finds what was accepted and pays nothing twice.",
      },
    );
  return await runWithTimeout({ clock, timeoutMs: seconds * 1000, signal, timeoutError }, run);
}

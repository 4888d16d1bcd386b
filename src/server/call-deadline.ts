/** Ends a call that nothing else ends: a disk that no longer answers gives neither a result nor an error. */
import { z } from "zod";
import { type Clock, systemClock } from "../clock.ts";
import { withDeadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";

/** A call may answer so much later than its window; together with the usual window less than what hosts allow. */
const OVERTIME_SECONDS = 10;

/** Without a window, the service's answer to a create is waited for, and then the ledger. */
const MIN_SECONDS = 20;

const withWindow = z.object({ wait_seconds: z.number().nonnegative() });

/** How long a call with these arguments may wait. */
export const windowSeconds = (args: unknown, defaultWaitSeconds: number): number =>
  withWindow.safeParse(args).data?.wait_seconds ?? defaultWaitSeconds;

/** The seconds after which a call with these arguments is answered whatever happens. */
export const maxSeconds = (args: unknown, defaultWaitSeconds: number): number =>
  Math.max(MIN_SECONDS, windowSeconds(args, defaultWaitSeconds) + OVERTIME_SECONDS);

/**
 * @param work gets a signal that aborts with the caller's, or when the time is over
 * @throws AudioError `timeout` when the time is over
 */
export async function withCallDeadline<T>(
  seconds: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<T> {
  const late = (): AudioError =>
    new AudioError(
      "timeout",
      `No answer within ${seconds} s: the disk of the output folder or of the ledger does not answer. What the service has accepted stays recorded.`,
      {
        retryable: true,
        remedy:
          "Tell the user that the disk does not answer. When it does, repeat the same call: it finds what was accepted and pays nothing twice.",
      },
    );
  return await withDeadline({ clock, ms: seconds * 1000, signal, late }, work);
}

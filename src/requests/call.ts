/** Declares what a use case receives from its call: wait time, progress and cancellation. */
import type { Clock } from "../clock.ts";
import { Deadline, runWithTimeout } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RequestDeps } from "./deps.ts";

export interface ProgressCount {
  readonly done: number;
  readonly total: number;
}

/** The MCP task as which a call was answered. Its id is the id of the call's wish, too. */
export interface CallHandle {
  readonly id: string;
  /** When the call began, in wall-clock milliseconds. A failure after it is the call's result. */
  readonly openedAtMs: number;
}

export interface Call {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /**
   * Time in milliseconds within which the call must return. The time scale does not apply. If the time is 0, the call
   * does not wait for audio.
   */
  readonly waitMs: number;
  /**
   * @param count finished and total parts of a narration; absent for a single request
   * @param staysTrue whether a later message does not replace this one
   */
  readonly onProgress: (message: string, count?: ProgressCount, staysTrue?: boolean) => void;
  /** Present only if the call is answered as an MCP task. */
  readonly handle?: CallHandle | undefined;
}

/** Maximum wait for the response to a submission, for a call that does not wait for audio. */
export const SUBMISSION_RESPONSE_WAIT_MS = 10_000;

/** A call in progress: all its waits share one deadline. */
export interface CallWithDeadline extends Call {
  readonly deadline: Deadline;
}

/**
 * Starts the deadline that all waits of a call share. If the `waitMs` of the call is 0, the deadline comes after 10 s,
 * so that a submission can still get its response.
 */
export function startDeadline(call: Call, clock: Clock): CallWithDeadline {
  return {
    ...call,
    deadline: new Deadline(clock, call.waitMs > 0 ? call.waitMs : SUBMISSION_RESPONSE_WAIT_MS),
  };
}

/** The error for a call whose time ended before the ledger or the service could be asked. */
export const callTimedOutError = (
  { outage }: Pick<Ledger["database"], "outage">,
  taskId?: string,
): AudioError =>
  // The outage of the ledger is the reason, and says more than the time.
  outage?.withIds({ taskId }) ??
  new AudioError("timeout", "The service could not be asked within the time of this call.", {
    retryable: true,
    taskId,
  });

/** Runs work of a call within the call's time. */
export const runWithinCall = <T>(
  { clock, ledger }: Pick<RequestDeps, "clock" | "ledger">,
  { deadline, signal }: CallWithDeadline,
  work: (signal: AbortSignal) => Promise<T>,
  taskId?: string,
): Promise<T> => {
  const timeoutError = (): AudioError => callTimedOutError(ledger.database, taskId);
  return runWithTimeout({ clock, timeoutMs: deadline.leftMs, signal, timeoutError }, work);
};

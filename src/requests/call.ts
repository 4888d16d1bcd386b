/** Declares what a use case receives from its call: wait time, progress and cancellation. */
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import type { RequestRecord } from "../ledger/record.ts";

export interface ProgressCount {
  readonly done: number;
  readonly total: number;
}

export interface Call {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /**
   * Time in milliseconds within which the call must return. The time scale does not apply. If the time is 0, the call
   * does not wait for audio.
   */
  readonly waitMs: number;
  /** @param count finished and total parts of a narration; absent for a single request */
  readonly onProgress: (message: string, count?: ProgressCount) => void;
  /** Present only if the call is answered as an MCP task. */
  readonly mcpTaskPreparation?: McpTaskPreparation;
}

/** The first step of a call that has an MCP task. It runs before the job of the call starts. */
export interface McpTaskPreparation {
  /**
   * Whether this call resumes an MCP task that was opened earlier. If so, no new attempt is started if the response to
   * the submission shows that the attempt has already failed. This failure is then the result of the MCP task.
   */
  readonly isResumed: boolean;
  /**
   * Opens the MCP task unless it is already open.
   *
   * @returns the record with which the job starts
   * @throws if the MCP task has ended, if its attempt has failed, or if the audio is already saved
   */
  prepare(record: RequestRecord): Promise<RequestRecord>;
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

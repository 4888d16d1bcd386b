/** Owns the words for a query or download that has to wait its turn, and the refusal where a call has no time for that; waits for nothing. */
import { AudioError } from "../errors.ts";
import type { ReadWaitReason } from "../limits/limits.ts";

const REASONS: Record<ReadWaitReason, string> = {
  rate: "Waiting for the 60 questions a minute that the service answers",
  paused: "The service asked for a pause",
};

/** @param waitMs until it is tried again */
export function describeReadWait(reason: ReadWaitReason, waitMs: number): string {
  return `${REASONS[reason]}; about ${secondsOf(waitMs)} s left`;
}

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

const WHY_HELD: Record<ReadWaitReason, string> = {
  rate: "the 60 questions a minute that it answers are used up",
  paused: "it asked for a pause",
};

/** The service cannot be asked within the time of the call; nothing was sent. */
export function heldBack(reason: ReadWaitReason, waitMs: number): AudioError {
  const seconds = secondsOf(waitMs);
  const message = `The service cannot be asked for about ${seconds} s: ${WHY_HELD[reason]}.`;
  return new AudioError("rate_limit", message, { retryable: true, retryAfterSeconds: seconds });
}

/** Whether this is a {@link heldBack}, not the service's own 429, which has a status. */
export function isHeldBack(error: unknown): error is AudioError {
  return error instanceof AudioError && error.code === "rate_limit" && error.httpStatus === undefined;
}

/** What a result says that could not be brought up to date. */
export function staleNote(error: AudioError): string {
  return `${error.message} This is the state that was last seen.`;
}

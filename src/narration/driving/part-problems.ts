/** Decides which failures of a part stop the whole narration, and which concern only that part. */
import { DamagedPartError, PartsDifferError } from "../../audio/part-errors.ts";
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import type { AudioError, ErrorCode } from "../../errors.ts";
import { IN_CLIENT_SETTINGS } from "../../settings-location.ts";
import type { NarrationProblem } from "../state/narration-state.ts";

/** Codes of errors that concern the text or the audio of one part only. Other parts may still succeed. */
const PART_ERROR_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "task_failed",
  "invalid_request",
  "request_too_large",
  "idempotency_conflict",
  "unexpected_response",
  "too_large",
  "not_found",
]);

/** Returns whether an error concerns only one part, so that the narration continues with its other parts. */
export const concernsOnePart = (error: AudioError): boolean => PART_ERROR_CODES.has(error.code);

/**
 * Maximum number of jobs for a part, counted since the driver last inspected the parts. The first job makes at most two
 * attempts, and the second job makes one attempt.
 */
export const MAX_JOBS_PER_PART = 2;

/** Advice for errors that state no remedy themselves. */
const ADVICE_BY_CODE: Partial<Readonly<Record<ErrorCode, string>>> = {
  insufficient_credits: `At least ${RESERVED_CREDITS} credits must be available: each task reserves ${RESERVED_CREDITS} whatever its length, and returns the rest.`,
  invalid_api_key: `AUDIO_API_KEY has to be an active key of the account, ${IN_CLIENT_SETTINGS}; then the server has to be restarted.`,
};

/**
 * Builds the problem that a narration reports for an error. If the error has a remedy, the remedy ends the message.
 * `partIndex` is `null` if the error concerns the whole narration.
 */
export function buildProblem(error: AudioError, partIndex: number | null): NarrationProblem {
  const remedy = error.remedy ?? ADVICE_BY_CODE[error.code];
  return {
    partIndex,
    code: error.code,
    message: `${error.message}${remedy === undefined ? "" : ` ${remedy}`}`,
  };
}

/** Builds the problem of a paid part whose audio is missing or cannot be joined. Only another take helps. */
export const buildUnusableAudioProblem = (message: string, partIndex: number | null): NarrationProblem => ({
  partIndex,
  code: "audio_unusable",
  message,
});

/**
 * Converts an error of joining to problems of single parts. Returns `null` if the error does not concern single parts.
 */
export function convertJoinError(error: unknown, partIndexes: readonly number[]): NarrationProblem[] | null {
  if (error instanceof PartsDifferError) {
    return error.differences.map(({ partIndex, property, value, commonValue, commonPartIndex }) => ({
      partIndex: partIndexes[partIndex] ?? null,
      code: "parts_differ",
      message: `Its audio has ${property} ${value}, and part ${(partIndexes[commonPartIndex] ?? 0) + 1} has ${commonValue}; one file cannot hold both. The parts are kept.`,
    }));
  }
  if (error instanceof DamagedPartError) {
    const part = partIndexes[error.partIndex] ?? null;
    return [buildUnusableAudioProblem(`Its audio is damaged: ${error.why}.`, part)];
  }
  return null;
}

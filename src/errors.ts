/** The one error type of this program, and its codes (docs/reference.md, Errors). */
import { isServiceErrorCode, type ServiceErrorCode } from "./contract/service-errors.ts";

/** Codes of our own, beside the service's (docs/reference.md, Errors). */
const LOCAL_ERROR_CODES = [
  "configuration_error",
  "network_error",
  "timeout",
  "unexpected_response",
  "task_failed",
  "budget_exceeded",
  "max_credits_reached",
  "invalid_file_name",
  "output_not_writable",
  "disk_full",
  "too_large",
  "store_unavailable",
  "wait_expired",
] as const;

export type LocalErrorCode = (typeof LOCAL_ERROR_CODES)[number];

export type ErrorCode = ServiceErrorCode | LocalErrorCode;

/** A code as it was stored; one of a newer version is told as what nobody expected. */
export const errorCodeOf = (text: string): ErrorCode =>
  isServiceErrorCode(text)
    ? text
    : (LOCAL_ERROR_CODES.find((code) => code === text) ?? "unexpected_response");

/** What is known about a failure beside its code and message; absent means unknown or not applicable. */
export interface FailureFacts {
  readonly httpStatus?: number | undefined;
  /** Whether the very same call can succeed later without anybody changing anything. */
  readonly retryable?: boolean | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly taskId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The next step, where the code's usual remedy would not fit. */
  readonly remedy?: string | undefined;
  readonly cause?: unknown;
}

/** Every failure that a caller may see: thrown anywhere, caught and rendered in one place. */
export class AudioError extends Error {
  override readonly name = "AudioError";
  readonly code: ErrorCode;
  readonly httpStatus: number | undefined;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly taskId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly remedy: string | undefined;

  constructor(code: ErrorCode, message: string, facts: FailureFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.httpStatus = facts.httpStatus;
    this.retryable = facts.retryable ?? false;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.taskId = facts.taskId;
    this.idempotencyKey = facts.idempotencyKey;
    this.remedy = facts.remedy;
  }

  /** The same failure, told with the ids that the thrower did not know. Ids already known are kept. */
  withIds(ids: { taskId?: string | undefined; idempotencyKey?: string | undefined }): AudioError {
    return new AudioError(this.code, this.message, {
      httpStatus: this.httpStatus,
      retryable: this.retryable,
      retryAfterSeconds: this.retryAfterSeconds,
      taskId: this.taskId ?? ids.taskId,
      idempotencyKey: this.idempotencyKey ?? ids.idempotencyKey,
      remedy: this.remedy,
      cause: this.cause,
    });
  }
}

/** A mistake of this program: neither the arguments nor the settings would mend it. */
export function ownMistake(cause: unknown): AudioError {
  return new AudioError("unexpected_response", "Something unexpected went wrong inside this server.", {
    retryable: true,
    remedy:
      "Repeat the same call: it does not pay twice. If it happens again, tell the user that this server has a fault; its log on standard error names it.",
    cause,
  });
}

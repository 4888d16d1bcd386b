/** The error type of this program and its codes (docs/reference.md, Errors). */
import { isServiceErrorCode, type ServiceErrorCode } from "./contract/service-errors.ts";

/** Codes of this program, in addition to those of the service (docs/reference.md, Errors). */
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

/** Parses a stored code. Unknown codes of newer versions become `unexpected_response`. */
export const parseErrorCode = (text: string): ErrorCode =>
  isServiceErrorCode(text)
    ? text
    : (LOCAL_ERROR_CODES.find((code) => code === text) ?? "unexpected_response");

/** Who reads a sentence: an assistant that calls tools, or a person at a shell. */
export type Reader = "assistant" | "terminal";

/** One fact in words. A plain sentence suits every reader; otherwise each reader has words of its own. */
export type Wording = string | Readonly<Record<Reader, string>>;

export const wordFor = (fact: Wording, reader: Reader): string =>
  typeof fact === "string" ? fact : fact[reader];

/** Where in a client a user finds the settings of this server. The words fit every way to install the server. */
export const IN_CLIENT_SETTINGS =
  "in the client's settings of this server (the `env` of its entry, or the form of its plugin or extension)";

/**
 * Returns what only the user can do: an assistant asks for it, a person at a shell does it.
 *
 * @param deed words that follow "Ask the user to"
 * @param more what an assistant can do besides or afterwards
 */
export const askUser = (deed: string, more = ""): Wording => ({
  assistant: `Ask the user to ${deed}${more}.`,
  terminal: `${deed.charAt(0).toUpperCase()}${deed.slice(1)}.`,
});

/** Facts about a failure in addition to code and message. An absent fact is unknown or does not apply. */
export interface AudioErrorOptions {
  readonly httpStatus?: number | undefined;
  /** Whether the same call can succeed later without any change. */
  readonly retryable?: boolean | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly taskId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The next step, if the default remedy of the code does not fit. */
  readonly remedy?: Wording | undefined;
  readonly cause?: unknown;
}

/**
 * An error that a caller may see. Any layer may throw it. It is rendered differently for tool calls
 * (`server/error-result.ts`), for protocol requests and for commands (`commands/terminal-messages.ts`).
 */
export class AudioError extends Error {
  override readonly name = "AudioError";
  readonly code: ErrorCode;
  readonly httpStatus: number | undefined;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly taskId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly remedy: Wording | undefined;

  constructor(code: ErrorCode, message: string, facts: AudioErrorOptions = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.httpStatus = facts.httpStatus;
    this.retryable = facts.retryable ?? false;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.taskId = facts.taskId;
    this.idempotencyKey = facts.idempotencyKey;
    this.remedy = facts.remedy;
  }

  /**
   * Returns a copy with the given ids, which the code that threw the error did not know. Keeps ids that are already
   * set.
   */
  withIds(ids: { taskId?: string | undefined; idempotencyKey?: string | undefined }): AudioError {
    return this.#with({
      taskId: this.taskId ?? ids.taskId,
      idempotencyKey: this.idempotencyKey ?? ids.idempotencyKey,
    });
  }

  /** Returns a copy with another next step. */
  withRemedy(remedy: Wording): AudioError {
    return this.#with({ remedy });
  }

  #with(facts: AudioErrorOptions): AudioError {
    return new AudioError(this.code, this.message, { ...this, cause: this.cause, ...facts });
  }
}

/** Returns the error for a bug of this program. Neither arguments nor settings can fix such a bug. */
export function internalError(cause: unknown): AudioError {
  return new AudioError("unexpected_response", "Something unexpected went wrong inside this server.", {
    retryable: true,
    remedy: {
      assistant:
        "Repeat the same call: it does not pay twice. If it happens again, tell the user that this server has a fault; its log on standard error names it.",
      terminal: "Run the same command again: it does not pay twice. The log above names the fault.",
    },
    cause,
  });
}

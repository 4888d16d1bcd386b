/** Converts an unsuccessful answer to an {@link AudioError} (docs/contract.md, Errors). */
import {
  isServiceErrorCode,
  SERVICE_ERROR_CODES,
  SERVICE_ERROR_STATUS,
  type ServiceErrorCode,
  serviceErrorBody,
} from "../contract/service-errors.ts";
import { AudioError, type AudioErrorOptions, type ErrorCode } from "../errors.ts";
import { parseRetryAfterSeconds, wasNeverSent } from "./retry.ts";
import { NO_USABLE_REASON, quoteServiceText } from "./service-text.ts";
import type { HttpResponse } from "./transport.ts";

export type Operation = "create" | "query" | "content";

const OPERATION_WORDS: Readonly<Record<Operation, string>> = {
  create: "the creation of the task",
  query: "the query",
  content: "the download",
};

/**
 * Statuses that mean the same without the contract's body. The others are then those of a gateway or a wrong address:
 * if its 404 counted as "this task does not exist", or its 400 as the service's refusal, a task that was made
 * nevertheless could be paid for twice.
 */
const PLAIN_STATUSES: ReadonlySet<number> = new Set([401, 429, 503]);

/** Marks an error whose code comes from the status alone, because the answer did not have the contract's body. */
class UnstatedCodeError extends Error {
  override readonly name = "UnstatedCodeError";
}

/** Returns the code that a status implies if the body states no fitting code, and `null` if it implies none. */
function deriveImpliedCode(
  status: number,
  operation: Operation,
  hasContractBody: boolean,
): ServiceErrorCode | null {
  if (status === 409 && operation === "content") return "not_ready";
  if (!hasContractBody && !PLAIN_STATUSES.has(status)) return null;
  if (status === 409) return operation === "create" ? "idempotency_conflict" : null;
  return SERVICE_ERROR_CODES.find((code) => SERVICE_ERROR_STATUS[code] === status) ?? null;
}

export interface FailedResponse {
  readonly status: number;
  readonly operation: Operation;
  /** The parsed body; `undefined` if missing or unreadable. */
  readonly body: unknown;
  readonly retryAfter: string | undefined;
  /** The answer's `Date`. */
  readonly sentAt?: string | undefined;
  readonly nowWallMs: number;
  readonly taskId: string | undefined;
  /** What is added if the body is not the contract's: whose answer it may be. */
  readonly doubt?: string;
  /** Returns the service's message in a form that is safe to show; `""` if it is withheld. */
  readonly sanitizeReason: (text: string) => string;
}

/**
 * Returns the body's code if it fits the status, otherwise `null`. Always returns `null` for a 409. Each of the two
 * codes of a 409 belongs to one operation, so {@link deriveImpliedCode} chooses the code by the operation.
 */
function parseStatedCode(code: string | undefined, status: number): ServiceErrorCode | null {
  if (code === undefined || status === 409 || !isServiceErrorCode(code)) return null;
  return SERVICE_ERROR_STATUS[code] === status ? code : null;
}

const RETRYABLE_CODES = new Set<ErrorCode>([
  "rate_limit",
  "concurrency_limit",
  "api_unavailable",
  "temporarily_unavailable",
  "not_ready",
]);

function describeStatus(status: number, operation: Operation): string {
  const operationPhrase = OPERATION_WORDS[operation];
  if (status >= 300 && status < 400) {
    return `The service answered ${operationPhrase} with a redirect (HTTP ${status}), which is never followed.`;
  }
  return `The service answered ${operationPhrase} with HTTP ${status}.`;
}

/** @param reason the service's message, cleaned; `""` if it is missing or withheld */
function formatReason(reason: string): string {
  return reason === "" ? NO_USABLE_REASON : `The service says: ${quoteServiceText(reason)}`;
}

/** Converts an unsuccessful answer, such as a 404 or an unexpected 204, to the error that the caller gets. */
export function toServiceError(response: FailedResponse): AudioError {
  const { status, operation, nowWallMs, retryAfter, sentAt, taskId } = response;
  const serviceError = serviceErrorBody.safeParse(response.body).data?.error;
  const code =
    parseStatedCode(serviceError?.code, status) ??
    deriveImpliedCode(status, operation, serviceError !== undefined);
  const sentence = describeStatus(status, operation);
  const isUnstated = serviceError === undefined;
  const key = isUnstated && code === "invalid_api_key" ? " AUDIO_API_KEY may not be an active key." : "";
  const quoted = isUnstated
    ? `${key}${response.doubt ?? ""}`
    : ` ${formatReason(response.sanitizeReason(serviceError.message))}`;
  const isTemporary = status >= 500 || status === 408 || status === 425 || (status >= 200 && status < 300);
  const seconds = parseRetryAfterSeconds(retryAfter, nowWallMs, sentAt);
  return new AudioError(code ?? "unexpected_response", `${sentence}${quoted}`, {
    httpStatus: status,
    retryable: code === null ? isTemporary : RETRYABLE_CODES.has(code),
    retryAfterSeconds: status === 429 || (status === 503 && retryAfter !== undefined) ? seconds : undefined,
    taskId,
    cause: isUnstated && code !== null ? new UnstatedCodeError("the status alone gives the code") : undefined,
  });
}

/** Returns the error for an answer that breaks the contract, and closes the connection unless its body was read. */
export function unexpectedResponseError(
  response: HttpResponse,
  message: string,
  facts: Pick<AudioErrorOptions, "taskId" | "cause"> = {},
): AudioError {
  response.discard();
  return new AudioError("unexpected_response", message, {
    ...facts,
    httpStatus: response.status,
    retryable: true,
  });
}

/** If a submission fails with one of these codes, this program did not send it, or the answer refused it. */
const REFUSED_BEFORE_ANY_TASK: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "invalid_api_key",
  "insufficient_credits",
  "purchase_required",
  "not_found",
  "idempotency_conflict",
  "request_too_large",
  "rate_limit",
  "concurrency_limit",
]);

/** A 429 of a gateway is a limit of its own: it did not forward the submission. */
const isLimit = ({ httpStatus }: AudioError): boolean => httpStatus === 429;

/**
 * Whether the service may have created a task and a reservation, although the submission failed with this error. True
 * for a 5xx, a time-out, a broken connection and an unreadable answer, and for each refusal without the contract's body
 * but a 429: a gateway can answer so after the service has accepted the submission. So can it with a 503.
 */
export function mayHaveCreatedTask(error: AudioError): boolean {
  if (wasNeverSent(error)) return false;
  const isStated = !(error.cause instanceof UnstatedCodeError) || isLimit(error);
  return !(isStated && REFUSED_BEFORE_ANY_TASK.has(error.code));
}

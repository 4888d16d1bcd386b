/** Converts an unsuccessful answer to an {@link AudioError} (docs/contract.md, Errors). */
import {
  isServiceErrorCode,
  SERVICE_ERROR_STATUS,
  type ServiceErrorCode,
  serviceErrorBody,
} from "../contract/service-errors.ts";
import { AudioError, type AudioErrorOptions, type ErrorCode } from "../errors.ts";
import { parseRetryAfterSeconds } from "./retry.ts";
import { NO_USABLE_REASON, quoteServiceText } from "./service-text.ts";
import type { HttpResponse } from "./transport.ts";

export type Operation = "create" | "query" | "content";

const OPERATION_WORDS: Readonly<Record<Operation, string>> = {
  create: "the creation of the task",
  query: "the query",
  content: "the download",
};

/**
 * The codes that HTTP statuses imply if the body states no fitting code. For 403, 404 and 409 see {@link
 * deriveImpliedCode}.
 */
const CODE_BY_STATUS: Readonly<Record<number, ServiceErrorCode>> = {
  400: "invalid_request",
  401: "invalid_api_key",
  402: "insufficient_credits",
  413: "request_too_large",
  429: "rate_limit",
  503: "temporarily_unavailable",
};

/**
 * Returns the code that a status implies if the body states no fitting code. Returns `null` for a 403 or 404 without
 * the contract's body, because a gateway or a wrong base address sends such answers. If such a 404 counted as "this
 * task does not exist", the user could pay for the task twice.
 */
function deriveImpliedCode(
  status: number,
  operation: Operation,
  hasContractBody: boolean,
): ServiceErrorCode | null {
  if (status === 409) {
    if (operation === "query") return null;
    return operation === "create" ? "idempotency_conflict" : "not_ready";
  }
  if (status === 404) return hasContractBody ? "not_found" : null;
  if (status === 403) return hasContractBody ? "purchase_required" : null;
  return CODE_BY_STATUS[status] ?? null;
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
  const quoted =
    serviceError === undefined
      ? (response.doubt ?? "")
      : ` ${formatReason(response.sanitizeReason(serviceError.message))}`;
  const isTemporary = status >= 500 || status === 408 || status === 425 || (status >= 200 && status < 300);
  const seconds = parseRetryAfterSeconds(retryAfter, nowWallMs, sentAt);
  return new AudioError(code ?? "unexpected_response", `${sentence}${quoted}`, {
    httpStatus: status,
    retryable: code === null ? isTemporary : RETRYABLE_CODES.has(code),
    retryAfterSeconds: status === 429 || (status === 503 && retryAfter !== undefined) ? seconds : undefined,
    taskId,
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

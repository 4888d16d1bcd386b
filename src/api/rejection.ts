/** Turns an answer other than success into an {@link AudioError} (docs/contract.md, Errors). */
import {
  isServiceErrorCode,
  SERVICE_ERROR_STATUS,
  type ServiceErrorCode,
  serviceErrorBody,
} from "../contract/service-errors.ts";
import { AudioError, type ErrorCode } from "../errors.ts";
import { parseRetryAfter } from "./retry.ts";
import { NO_USABLE_REASON, quoteServiceText } from "./service-text.ts";

export type Operation = "create" | "query" | "content";

const OPERATION_WORDS: Readonly<Record<Operation, string>> = {
  create: "the creation of the task",
  query: "the query",
  content: "the download",
};

/** The code that a status implies where the body does not say; 404 and 403 are not here, see {@link impliedCode}. */
const IMPLIED: Readonly<Record<number, ServiceErrorCode>> = {
  400: "invalid_request",
  401: "invalid_api_key",
  402: "insufficient_credits",
  413: "request_too_large",
  429: "rate_limit",
  503: "temporarily_unavailable",
};

/**
 * The code behind a status whose body names none that fits. A 403 or 404 without the contract's body comes from
 * something in between (a gateway, a wrong base address): taking it for "this task does not exist" could make
 * somebody pay twice.
 */
function impliedCode(
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
  return IMPLIED[status] ?? null;
}

export interface Rejection {
  readonly status: number;
  readonly operation: Operation;
  /** The parsed body; `undefined` when there was none or it could not be read. */
  readonly body: unknown;
  readonly retryAfter: string | undefined;
  readonly nowWallMs: number;
  readonly taskId: string | undefined;
  /** The service's words, fit to show; `""` where they are withheld. */
  readonly clean: (text: string) => string;
}

/**
 * The code that the body states, where it belongs to the status. Not for 409, whose two codes belong to one
 * operation each, so the status says more than the body.
 */
function statedCode(code: string | undefined, status: number): ServiceErrorCode | null {
  if (code === undefined || status === 409 || !isServiceErrorCode(code)) return null;
  return SERVICE_ERROR_STATUS[code] === status ? code : null;
}

const RETRYABLE = new Set<ErrorCode>([
  "rate_limit",
  "concurrency_limit",
  "api_unavailable",
  "temporarily_unavailable",
  "not_ready",
]);

function describe(status: number, operation: Operation): string {
  const words = OPERATION_WORDS[operation];
  if (status >= 300 && status < 400) {
    return `The service answered ${words} with a redirect (HTTP ${status}), which is never followed.`;
  }
  return `The service answered ${words} with HTTP ${status}.`;
}

/** @param words what the service said, cleaned; `""` where it said nothing that may be shown */
function sayReason(words: string): string {
  return words === "" ? NO_USABLE_REASON : `The service says: ${quoteServiceText(words)}`;
}

/** Any answer that is not the success of its operation, as the failure that the caller sees. */
export function rejectionError(rejection: Rejection): AudioError {
  const { status, operation, nowWallMs, retryAfter, taskId } = rejection;
  const said = serviceErrorBody.safeParse(rejection.body).data?.error;
  const code = statedCode(said?.code, status) ?? impliedCode(status, operation, said !== undefined);
  const sentence = describe(status, operation);
  const quoted = said === undefined ? "" : ` ${sayReason(rejection.clean(said.message))}`;
  const isPassing = status >= 500 || status === 408 || status === 425 || (status >= 200 && status < 300);
  const seconds = parseRetryAfter(retryAfter, nowWallMs);
  return new AudioError(code ?? "unexpected_response", `${sentence}${quoted}`, {
    httpStatus: status,
    retryable: code === null ? isPassing : RETRYABLE.has(code),
    retryAfterSeconds: status === 429 || (status === 503 && retryAfter !== undefined) ? seconds : undefined,
    taskId,
  });
}

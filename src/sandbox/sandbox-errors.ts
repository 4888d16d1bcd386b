/**
 * Builds the error responses of the sandbox: codes, HTTP statuses and messages (docs/contract.md, Errors). Defines the
 * error of a sandbox that cannot start.
 */
import { SERVICE_ERROR_STATUS, type ServiceErrorCode } from "../contract/service-errors.ts";
import { RETRY_AFTER_SECONDS } from "../contract/service-limits.ts";

/** An error response. Clients read its message, so the message reveals no internals of the sandbox. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;

  constructor(code: ServiceErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  get status(): number {
    return SERVICE_ERROR_STATUS[this.code];
  }

  /** Adds `Retry-After: 60` to every 429, whatever the sandbox's time scale. */
  get headers(): Record<string, string> {
    return this.status === 429 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {};
  }
}

/**
 * Builds the body of every error response. The type of `code` is `string`, because the contract lists no code for
 * status 416.
 */
export function buildErrorBody(code: string, message: string): { error: { code: string; message: string } } {
  return { error: { code, message } };
}

export const invalidRequestError = (message: string): ServiceError =>
  new ServiceError("invalid_request", message);

/**
 * Builds the 404 response. It is the same for an unknown path, an unknown task and a task of another account, so that
 * it does not reveal whether a task exists.
 */
export const notFoundError = (): ServiceError =>
  new ServiceError("not_found", "There is nothing here for this account.");

/** Builds the 429 response for an account that has used up its submissions or its reads for a minute. */
export const rateLimitedError = (): ServiceError =>
  new ServiceError("rate_limit", "Too many requests for this account in a minute. Wait before trying again.");

/** Thrown if an option of the sandbox is unusable, such as an invalid accounts file or a port in use. */
export class SandboxUsageError extends Error {
  override readonly name = "SandboxUsageError";
}

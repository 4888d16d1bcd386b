/** How the sandbox refuses a request: codes, statuses and sentences (docs/contract.md, Errors). */
import { SERVICE_ERROR_STATUS, type ServiceErrorCode } from "../contract/service-errors.ts";
import { RETRY_AFTER_SECONDS } from "../contract/service-limits.ts";

/** An error response. Its message contains nothing but facts about the site and the request. */
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

  /** Every 429 carries `Retry-After: 60`, whatever the time scale. */
  get headers(): Record<string, string> {
    return this.status === 429 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {};
  }
}

/** `{ error: { code, message } }`, the body of every refusal. `code` is wider than the contract's for 416 alone. */
export function errorBody(code: string, message: string): { error: { code: string; message: string } } {
  return { error: { code, message } };
}

export const invalidRequest = (message: string): ServiceError => new ServiceError("invalid_request", message);

export const notFound = (): ServiceError =>
  new ServiceError("not_found", "There is nothing here for this account.");

export const rateLimited = (): ServiceError =>
  new ServiceError("rate_limit", "Too many requests for this account in a minute. Wait before trying again.");

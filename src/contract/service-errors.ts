/** Defines the service's error codes and the body of its error responses (docs/contract.md, Errors). */
import { z } from "zod";

/** Every error code of the contract with its HTTP status. The first code of a status is what the status alone implies. */
export const SERVICE_ERROR_STATUS = {
  invalid_request: 400,
  invalid_api_key: 401,
  insufficient_credits: 402,
  purchase_required: 403,
  not_found: 404,
  idempotency_conflict: 409,
  not_ready: 409,
  request_too_large: 413,
  rate_limit: 429,
  concurrency_limit: 429,
  temporarily_unavailable: 503,
  api_unavailable: 503,
} as const;

export type ServiceErrorCode = keyof typeof SERVICE_ERROR_STATUS;

// The cast is sound, because the object has no other keys.
export const SERVICE_ERROR_CODES = Object.keys(SERVICE_ERROR_STATUS) as ServiceErrorCode[];

export function isServiceErrorCode(code: string): code is ServiceErrorCode {
  return Object.hasOwn(SERVICE_ERROR_STATUS, code);
}

/** The body of every error response: `{ error: { code, message } }`. Unknown fields are ignored. */
export const serviceErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

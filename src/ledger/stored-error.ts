/** An error as the ledger keeps it, so that every process reports it in the same words. */
import { z } from "zod";
import { AudioError, parseErrorCode } from "../errors.ts";

export interface StoredError {
  readonly code: string;
  readonly message: string;
  readonly httpStatus?: number | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly taskId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly remedy?: string | undefined;
}

export const storedErrorSchema: z.ZodType<StoredError> = z.looseObject({
  code: z.string(),
  message: z.string(),
  httpStatus: z.int().optional(),
  retryable: z.boolean().optional(),
  retryAfterSeconds: z.number().optional(),
  taskId: z.string().optional(),
  idempotencyKey: z.string().optional(),
  remedy: z.string().optional(),
});

/** Converts an error to its stored form. Omits the cause, because it may contain anything. */
export function toStoredError(error: AudioError): StoredError {
  const { code, message, httpStatus, retryable, retryAfterSeconds, taskId, idempotencyKey, remedy } = error;
  return { code, message, httpStatus, retryable, retryAfterSeconds, taskId, idempotencyKey, remedy };
}

/**
 * Restores an error from its stored form, without its cause. A code that this version does not know becomes
 * `unexpected_response`.
 */
export function fromStoredError({ code, message, ...facts }: StoredError): AudioError {
  return new AudioError(parseErrorCode(code), message, facts);
}

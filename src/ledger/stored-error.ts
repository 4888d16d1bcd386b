/** An error as the ledger keeps it, so that every process reports it in the same words. */
import { z } from "zod";
import { AudioError, parseErrorCode, type Wording } from "../errors.ts";
import { parseJson } from "../parse-json.ts";
import type { RequestRow } from "./schema.ts";

export const wordingSchema: z.ZodType<Wording> = z.union([
  z.string(),
  z.object({ assistant: z.string(), terminal: z.string() }),
]);

export const storedErrorSchema = z.looseObject({
  code: z.string(),
  message: z.string(),
  httpStatus: z.int().optional(),
  retryable: z.boolean().optional(),
  retryAfterSeconds: z.number().optional(),
  taskId: z.string().optional(),
  idempotencyKey: z.string().optional(),
  remedy: wordingSchema.optional(),
});
export type StoredError = Readonly<z.infer<typeof storedErrorSchema>>;

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

/** Restores why nobody works on a request, from its row; `null` if there is no reason. */
export function parseRequestError({
  error,
  error_code,
}: Pick<RequestRow, "error" | "error_code">): AudioError | null {
  if (error === null && error_code === null) return null;
  const stored = parseJson(storedErrorSchema, error);
  return stored === null
    ? new AudioError(parseErrorCode(error_code ?? ""), "The reason cannot be read any more.")
    : fromStoredError(stored);
}

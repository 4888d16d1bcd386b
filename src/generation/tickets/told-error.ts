/** Errors as tickets keep them: told the same by every process, at any time. */
import { AudioError, errorCodeOf } from "../../errors.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { TicketEnd, ToldError } from "../../ledger/ticket.ts";
import { taskFailed } from "../use-cases/generate.ts";

export function toldError(error: AudioError): ToldError {
  const { code, message, httpStatus, retryable, retryAfterSeconds, taskId, idempotencyKey, remedy } = error;
  return { code, message, httpStatus, retryable, retryAfterSeconds, taskId, idempotencyKey, remedy };
}

/** The error that an end stands for. */
export function errorOfEnd(
  end: TicketEnd & { readonly kind: "failed" | "error" },
  record: TaskRecord,
): AudioError {
  // What the record says by now may be of a later attempt.
  if (end.kind === "failed") return taskFailed({ ...record, ...end });
  const { code, message, ...facts } = end.error;
  return new AudioError(errorCodeOf(code), message, facts);
}

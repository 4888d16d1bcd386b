/** Owns how an attempt begins in a record, the first and those after a failed one; sends nothing. */
import type { TaskRecord } from "../ledger/record.ts";
import { idempotencyKey } from "./identity.ts";

/** What a record says of its attempt before anything was sent. */
export const NO_TASK_YET = {
  status: "waiting",
  taskId: null,
  isGone: false,
  billing: null,
  audioSeconds: null,
  output: null,
  taskError: null,
  sentAtMs: null,
  acceptedAtMs: null,
  finishedAtMs: null,
  polledAtMs: null,
} as const satisfies Partial<TaskRecord>;

/**
 * The record's next attempt: its task failed in an earlier call and was refunded, so asking again tries again.
 *
 * @param failed the attempt that failed; a record that somebody has moved on since stays as it is
 */
export function nextAttempt(record: TaskRecord, failed: number = record.attempt): TaskRecord {
  if (record.input === null || record.take === null || record.attempt !== failed) return record;
  const attempt = record.attempt + 1;
  return {
    ...record,
    attempt,
    idempotencyKey: idempotencyKey(record.input, record.take, attempt),
    ...NO_TASK_YET,
  };
}

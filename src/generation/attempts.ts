/** Owns what becomes of a record when its attempt has failed and another is made; sends nothing. */
import type { TaskRecord } from "../ledger/record.ts";
import { idempotencyKey } from "./identity.ts";

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
  };
}

/** A whole record for tests that need one and care for little in it. */
import type { TaskRecord } from "../../src/ledger/record.ts";

export function aRecord(changes: Partial<TaskRecord> = {}): TaskRecord {
  return {
    version: 2,
    revision: 1,
    recordId: "record-1",
    workId: "work-1",
    accountId: "account",
    origin: "https://service.example",
    input: '{"prompt":"Grüße, 世界 🎧 \\u2028 :base64:"}',
    take: 1,
    attempt: 1,
    idempotencyKey: "key",
    status: "processing",
    send: null,
    mayHaveArrived: false,
    taskId: "task-1",
    isGone: false,
    isTooLarge: false,
    billing: null,
    audioSeconds: null,
    output: null,
    taskError: null,
    spend: null,
    earlierTaskIds: [],
    earlierCredits: 0,
    fileName: null,
    shelf: "output",
    files: [],
    createdAtMs: 1_800_000_000_000,
    sentAtMs: null,
    acceptedAtMs: null,
    finishedAtMs: null,
    polledAtMs: null,
    ...changes,
  };
}

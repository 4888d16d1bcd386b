/** Owns what is made of a task that the service no longer knows: recorded once, and never paid for again by a repeat. */
import { AudioError } from "../errors.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";
import { countedCharge } from "./observe.ts";
import type { RecordBook } from "./record-book.ts";

/** The service no longer knows a task that it had accepted: it frees the slot, and its reservation stays counted. */
export async function markGone(
  deps: GenerationDeps,
  book: RecordBook,
  record: TaskRecord,
): Promise<AudioError> {
  await deps.limits.endTask(record.recordId, record.attempt, countedCharge(record));
  await book.update(record.recordId, (before) =>
    before.taskId === record.taskId ? { ...before, isGone: true } : before,
  );
  return goneError(record);
}

/** The service does not know this task any more; only a new take may pay again (design 5, settled details). */
export function goneError(record: TaskRecord): AudioError {
  return new AudioError("not_found", `The service no longer knows task ${record.taskId ?? "?"}.`, {
    httpStatus: 404,
    taskId: record.taskId ?? undefined,
    idempotencyKey: record.idempotencyKey ?? undefined,
    remedy:
      "Repeating this call will not pay again. If the audio is still wanted, ask the user first, then call generate_audio with the next take number: that is a new task and costs credits.",
  });
}

/** Handles a task that the service no longer knows: marks the record, so that a repeat does not pay again. */
import { AudioError } from "../../errors.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";
import { applyEventWithRetry } from "./apply-event-with-retry.ts";
import type { Job } from "./job.ts";

/** Two 404s in a row are required, because a single one may come from a lagging replica or a deployment. */
export const NOT_FOUND_RESPONSES_UNTIL_GONE = 2;

/** Marks the record as gone. A later call may still query the task, because a query is free. */
export async function recordGoneAndBuildError(job: Job, deps: RequestDeps): Promise<AudioError> {
  const { taskId } = job.record;
  if (taskId !== null) await applyEventWithRetry(job, deps, { kind: "task_vanished", taskId });
  deps.limits.submissions.wake();
  return goneError(job.record);
}

/**
 * Builds the `not_found` error for a task that the service no longer knows. Stores nothing, unlike
 * {@link recordGoneAndBuildError}.
 */
export function goneError(record: RequestRecord): AudioError {
  return new AudioError("not_found", `The service does not know task ${record.taskId ?? "?"} (any more).`, {
    httpStatus: 404,
    taskId: record.taskId ?? undefined,
    idempotencyKey: record.idempotencyKey ?? undefined,
    remedy:
      "Repeating this call will not pay again: it asks the service once more. If the audio is still wanted, ask the user first, then call generate_audio with the next take number: that is a new task and costs credits.",
  });
}

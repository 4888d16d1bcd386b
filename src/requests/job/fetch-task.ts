/** Sends one query for a task within the shared read limit. */
import type { ObservedTask } from "../../api/parse-task.ts";
import { decideAfterFailedRead } from "../../api/retry.ts";
import type { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { ReadOptions, ReadWaitReason } from "../../limits/read-queue.ts";
import type { RequestDeps } from "../deps.ts";
import { describeHold } from "./phase.ts";

export interface QueryOptions extends ReadOptions {
  /** Deadline of the call. If the read limit would delay the query beyond it, the query throws at once. */
  readonly deadline?: Deadline;
}

/** The error for a query that the read limit would delay beyond the call's deadline. Nothing was sent. */
function readLimitError(reason: ReadWaitReason, waitMs: number): AudioError {
  return new AudioError("rate_limit", describeHold(`reads_${reason}`, waitMs), {
    retryable: true,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });
}

/**
 * Queries the service once. A 429 starts a cooldown of the reads of this process and is then rethrown.
 *
 * @throws AudioError with the task id. If the read limit would delay the query beyond the deadline, its code is
 *   `rate_limit`, and nothing was sent
 */
export async function fetchTask(
  deps: Pick<RequestDeps, "service" | "limits" | "log" | "random">,
  taskId: string,
  signal: AbortSignal,
  { deadline, isPoll = false, onWaiting }: QueryOptions = {},
): Promise<ObservedTask> {
  const { service, limits, log, random } = deps;
  const tooLate = new AbortController();
  const querySignal = deadline === undefined ? signal : AbortSignal.any([signal, tooLate.signal]);
  try {
    return await limits.reads.run(
      querySignal,
      async () => {
        const task = await service.query(taskId, querySignal);
        for (const deviation of task.deviations) log.warn(`task ${task.taskId}: ${deviation}`);
        return task;
      },
      {
        isPoll,
        onWaiting: (reason, waitMs) => {
          if (deadline !== undefined && waitMs > deadline.leftMs)
            tooLate.abort(readLimitError(reason, waitMs));
          else onWaiting?.(reason, waitMs);
        },
      },
    );
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    const decision = error.httpStatus === undefined ? null : decideAfterFailedRead(error, 1, random);
    if (decision?.kind === "rate_limited") await limits.startCooldown("reads", decision.retryAfterSeconds);
    throw error.withIds({ taskId });
  }
}

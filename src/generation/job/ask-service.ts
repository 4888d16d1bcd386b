/** One query of a task within the shared budget of reads. */
import { decideRead } from "../../api/retry.ts";
import type { ObservedTask } from "../../api/service.ts";
import { AudioError } from "../../errors.ts";
import type { Settlement } from "../../ledger/ledger-store.ts";
import type { ReadOptions } from "../../limits/limits.ts";
import type { GenerationDeps } from "../deps.ts";

export interface Answer {
  readonly task: ObservedTask;
  /** To be written together with what the answer tells; it is forgotten safely where nothing is written. */
  readonly settle: Settlement | undefined;
}

/**
 * Asks once. A 429 pauses every process's reads before it is thrown on.
 *
 * @param isRecorded whether the caller is going to write what it learns; otherwise the read is settled by itself
 * @throws AudioError with the task's id
 */
export async function askService(
  deps: Pick<GenerationDeps, "service" | "limits" | "log" | "random">,
  taskId: string,
  signal: AbortSignal,
  options: ReadOptions & { readonly isRecorded?: boolean } = {},
): Promise<Answer> {
  const { service, limits, log, random } = deps;
  try {
    return await limits.read(
      signal,
      async (slot) => {
        const task = await service.query(taskId, signal);
        for (const oddity of task.oddities) log.warn(`task ${task.taskId}: ${oddity}`);
        return { task, settle: options.isRecorded === true ? slot.take() : undefined };
      },
      options,
    );
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    const decision = error.httpStatus === undefined ? null : decideRead(error, 1, random);
    if (decision?.kind === "limited") await limits.pause("reads", decision.retryAfterSeconds);
    throw error.withIds({ taskId });
  }
}

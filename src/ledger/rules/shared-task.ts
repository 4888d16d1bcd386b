/** A task counts once, although records of several API keys may name it: which of them counts, and which is listed. Pure. */

import type { SpendShare } from "./spend.ts";

/** The spend of one task, as one record has it. */
export interface TaskShare {
  readonly status: string | null;
  readonly spend: SpendShare | null;
}

/**
 * Returns the credits that a budget counts for a task that several records name: those of a record that knows the end, because the
 * others may still hold the reservation; of several the most, because a record may include earlier attempts, and then
 * the earliest, so that the answer never depends on the order of the records.
 */
export function countedSpend(records: readonly TaskShare[]): SpendShare | null {
  const ended = records.filter(({ status }) => status === "succeeded" || status === "failed");
  const [counted = null] = (ended.length > 0 ? ended : records)
    .flatMap(({ spend }) => spend ?? [])
    .sort((one, other) => other.credits - one.credits || one.quarter - other.quarter);
  return counted;
}

interface NamedTask {
  readonly keyId: string;
  readonly taskId: string | null;
}

/** Leaves out a record whose task another one names, too: this key's stays, else the first. */
export function eachTaskOnce<T extends NamedTask>(records: readonly T[], keyId: string): T[] {
  const kept = new Map<string, T>();
  for (const record of records) {
    const { taskId } = record;
    if (taskId !== null && (!kept.has(taskId) || record.keyId === keyId)) kept.set(taskId, record);
  }
  return records.filter((record) => record.taskId === null || kept.get(record.taskId) === record);
}

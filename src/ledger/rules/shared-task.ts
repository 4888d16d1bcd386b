/**
 * If records of several API keys name the same task, decides which record's spend counts and which record is listed.
 * Pure.
 */
import type { BucketedSpend } from "./spend.ts";

/** A task, as one record states it. */
export interface TaskClaim {
  readonly status: string | null;
  readonly spend: BucketedSpend | null;
}

/**
 * Returns the spend that a budget counts for a task that several records name. Prefers records that know the task's
 * end, because other records may still count the reservation. Among the preferred records, selects the highest amount,
 * because a record may include earlier attempts. Among equal amounts, selects the earliest date, so that the order of
 * the records does not matter.
 */
export function countSpendOnce(records: readonly TaskClaim[]): BucketedSpend | null {
  const ended = records.filter(({ status }) => status === "succeeded" || status === "failed");
  const [counted = null] = (ended.length > 0 ? ended : records)
    .flatMap(({ spend }) => spend ?? [])
    .sort((one, other) => other.credits - one.credits || one.bucketIndex - other.bucketIndex);
  return counted;
}

interface NamedTask {
  readonly apiKeyId: string;
  readonly taskId: string | null;
}

/** Lists each task once. Keeps this key's record of a task or, if there is none, the first record. */
export function keepEachTaskOnce<T extends NamedTask>(records: readonly T[], apiKeyId: string): T[] {
  const recordByTask = new Map<string, T>();
  for (const record of records) {
    const { taskId } = record;
    if (taskId !== null && (!recordByTask.has(taskId) || record.apiKeyId === apiKeyId))
      recordByTask.set(taskId, record);
  }
  return records.filter((record) => record.taskId === null || recordByTask.get(record.taskId) === record);
}

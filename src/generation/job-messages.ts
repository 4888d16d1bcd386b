/** Owns the sentences that progress notifications carry; decides nothing. */
import type { TaskRecord } from "../ledger/record.ts";
import type { Hold, Job } from "./job.ts";

const seconds = (ms: number): string => `${Math.max(1, Math.ceil(ms / 1000))} s`;

export function describeHold(hold: Hold): string {
  switch (hold.reason) {
    case "rate":
      return `Waiting for a free create slot (6 a minute), about ${seconds(hold.waitMs)}`;
    case "in_flight":
      return "Waiting for one of the account's two running tasks to end";
    case "paused":
      return `The service asked for a pause; about ${seconds(hold.waitMs)} left`;
    case "unavailable":
      return `The service is unavailable; trying again in about ${seconds(hold.waitMs)}`;
    case "elsewhere":
      return "Another window is already working on this request";
  }
}

/** How a status sounds behind "the task". */
export const STATUS_WORDS: Readonly<Record<TaskRecord["status"], string>> = {
  waiting: "is waiting",
  unresolved: "is sent, its answer not known yet",
  queued: "is queued",
  processing: "is processing",
  succeeded: "has succeeded",
  failed: "has failed",
};

/** @param elapsedMs since this job began to watch */
export function describeWatch(record: TaskRecord, elapsedMs: number): string {
  return `Task ${record.taskId ?? "?"} ${STATUS_WORDS[record.status]} (${seconds(elapsedMs)} so far)`;
}

/** What a caller whose window closes has to know about audio that could not be fetched yet; nothing where all goes well. */
export function describeTrouble(job: Job): string[] {
  if (job.record.status !== "succeeded" || job.lastError === null) return [];
  return [
    `Fetching the audio has not worked yet (${job.lastError.message}) It is tried again in the background.`,
  ];
}

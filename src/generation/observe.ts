/** Owns how the service's view of a task enters a record; does no input or output. */
import type { ObservedTask } from "../api/service.ts";
import type { Billing } from "../contract/audio-task.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { TaskRecord } from "../ledger/record.ts";

const ORDER = { queued: 0, processing: 1, succeeded: 2, failed: 2 } as const;

/**
 * The record with what was observed. A status never goes backwards: an answer older than what is known already
 * changes nothing but the time of the poll. A task other than the recorded one takes its place.
 */
export function observe(record: TaskRecord, task: ObservedTask, nowMs: number): TaskRecord {
  const isEnded = record.status === "succeeded" || record.status === "failed";
  const isBackwards = record.status === "processing" && ORDER[task.status] < ORDER.processing;
  if (record.taskId === task.taskId && (isEnded || isBackwards)) return { ...record, polledAtMs: nowMs };
  const hasEnded = task.status === "succeeded" || task.status === "failed";
  return {
    ...record,
    status: task.status,
    taskId: task.taskId,
    isGone: false,
    billing: task.billing,
    audioSeconds: task.audioSeconds,
    output: task.output,
    taskError: task.error,
    finishedAtMs: hasEnded ? nowMs : null,
    polledAtMs: nowMs,
  };
}

/** What an ended task counts toward the budget: a charge that the service did not state counts in full, a failure nothing. */
export function countedCharge(ended: { readonly status: string; readonly billing: Billing | null }): number {
  return ended.billing?.charged_credits ?? (ended.status === "failed" ? 0 : RESERVED_CREDITS);
}

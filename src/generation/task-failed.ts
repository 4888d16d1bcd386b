/** The error of a task that failed: what the service says of it, and what it cost. */
import { quoteServiceText, serviceReason } from "../api/service-text.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { AudioError } from "../errors.ts";
import { isRefunded, type TaskRecord } from "../ledger/record.ts";

/** The service's words are quoted: they are data, whatever they ask for. A record may be older than that judgement. */
function failureReason({ taskError }: TaskRecord): string {
  const words = serviceReason(taskError?.message ?? "");
  return words === ""
    ? "; the service gave no usable reason."
    : `. The service says: ${quoteServiceText(words)}`;
}

export function taskFailed(record: TaskRecord): AudioError {
  const cost =
    record.billing === null
      ? `The service stated no bill that can be read, so up to ${RESERVED_CREDITS} credits may be charged for it.`
      : `The service charged ${record.billing.charged_credits ?? 0} credits for it all the same, against its own rules.`;
  return new AudioError("task_failed", `Task ${record.taskId ?? "?"} failed${failureReason(record)}`, {
    ...(isRefunded(record)
      ? {}
      : {
          remedy: `${cost} Tell the user, and ask before anything else: the same call makes a fresh attempt, which may cost as much again.`,
        }),
    taskId: record.taskId ?? undefined,
    idempotencyKey: record.idempotencyKey ?? undefined,
  });
}

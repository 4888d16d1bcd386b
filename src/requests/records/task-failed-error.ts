/** The error for a failed task: the service's reason and the cost. */
import { quoteServiceText, sanitizeReason } from "../../api/service-text.ts";
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import { AudioError } from "../../errors.ts";
import { isRefunded, type RequestRecord } from "../../ledger/record.ts";

/**
 * Quotes the service's reason, because it is data and not an instruction. Cleans the reason again, because an old
 * record may contain a reason that was not cleaned.
 */
function describeFailureReason({ taskError }: RequestRecord): string {
  const words = sanitizeReason(taskError?.message ?? "");
  return words === ""
    ? "; the service gave no usable reason."
    : `. The service says: ${quoteServiceText(words)}`;
}

/**
 * Builds the `task_failed` error of a record whose task has failed. If the task was not refunded, the remedy states
 * what it may have cost, and says that the user must be asked before a new attempt.
 */
export function taskFailedError(record: RequestRecord): AudioError {
  const cost =
    record.billing === null
      ? `The service stated no bill that can be read, so up to ${RESERVED_CREDITS} credits may be charged for it.`
      : `The service charged ${record.billing.charged_credits ?? 0} credits for it nevertheless, against its own rules.`;
  return new AudioError(
    "task_failed",
    `Task ${record.taskId ?? "?"} failed${describeFailureReason(record)}`,
    {
      ...(isRefunded(record)
        ? {}
        : {
            remedy: `${cost} Tell the user, and ask before anything else: the same call makes a fresh attempt, which may cost as much again.`,
          }),
      taskId: record.taskId ?? undefined,
      idempotencyKey: record.idempotencyKey ?? undefined,
    },
  );
}

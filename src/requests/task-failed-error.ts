/** The error for a failed task: the service's reason and the cost. */
import { quoteServiceText, sanitizeReason } from "../api/service-text.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { AudioError, type Wording } from "../errors.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { getIds } from "./stored-input.ts";

type FailedTask = Pick<
  RequestRow,
  "task_id" | "charged_credits" | "failure_message" | "body" | "take" | "attempt"
>;

/**
 * Quotes the service's reason, because it is data and not an instruction. Cleans the reason again, because somebody may
 * have changed the ledger.
 */
function describeFailureReason({ failure_message }: FailedTask): string {
  const words = sanitizeReason(failure_message ?? "");
  return words === ""
    ? "; the service gave no usable reason."
    : `. The service says: ${quoteServiceText(words)}`;
}

/** Words with which services refuse a text itself. */
const REFUSAL_OF_TEXT =
  /\b(?:moderat\w*|reject\w*|polic(?:y|ies)|prohibited|disallowed|not allowed|unsafe|safety|sensitive|violat\w*|inappropriate)\b|审核|违规|敏感/i;

/** Whether a task failed because of its text, so that the same text would be refused again. */
export const isTextRefused = (failureMessage: string | null): boolean =>
  REFUSAL_OF_TEXT.test(sanitizeReason(failureMessage ?? ""));

const REFUSED_TEXT_REMEDY: Wording = {
  assistant:
    "It cost nothing. Tell the user the reason. The same text would be refused again: call again only with other words.",
  terminal: "It cost nothing. The same text would be refused again: change its words.",
};

/**
 * Builds the `task_failed` error of a request whose task has failed. If the task was not refunded, the remedy states
 * what it may have cost, and says that the user must be asked before a new attempt.
 */
export function taskFailedError(row: FailedTask): AudioError {
  const cost =
    row.charged_credits === null
      ? `The service stated no bill that can be read, so up to ${RESERVED_CREDITS} credits may be charged for it.`
      : `The service charged ${row.charged_credits} credits for it nevertheless, against its own rules.`;
  return new AudioError("task_failed", `Task ${row.task_id ?? "?"} failed${describeFailureReason(row)}`, {
    ...(isRefunded(row)
      ? isTextRefused(row.failure_message) && { remedy: REFUSED_TEXT_REMEDY }
      : {
          remedy: {
            assistant: `${cost} Tell the user, and ask before anything else: the same call makes a fresh attempt, which may cost as much again.`,
            terminal: `${cost} The same command makes a fresh attempt, which may cost as much again.`,
          },
        }),
    ...getIds(row),
  });
}

/** Whether a failed task was refunded. A charge that is not known counts as none. */
export const isRefunded = ({ charged_credits }: Pick<RequestRow, "charged_credits">): boolean =>
  charged_credits === 0;

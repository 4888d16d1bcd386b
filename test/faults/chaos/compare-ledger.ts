/** Compares the ledger with the service once everything has ended. Corrects nothing. */
import { chargeForSeconds, RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import { deriveIdempotencyKey } from "../../../src/ledger/identity.ts";
import type { FakeService } from "../../support/fake-service.ts";
import { type LedgerAttempt, toServiceStatus } from "../../support/ledger-rows.ts";
import { type LedgerLocation, LedgerView } from "../../support/ledger-view.ts";

const keyOf = ({ body, take, n }: LedgerAttempt): string => deriveIdempotencyKey(body ?? "", take ?? 1, n);

/**
 * Returns every disagreement between the ledger and the service.
 *
 * @param unsent idempotency keys of submissions that the budget refused; their records may be `waiting`
 */
export async function compareLedger(
  service: FakeService,
  location: LedgerLocation,
  unsent: ReadonlySet<string>,
): Promise<string[]> {
  const view = await LedgerView.open(location);
  try {
    return await compareWith(service, view, location, unsent);
  } finally {
    await view.close();
  }
}

async function compareWith(
  service: FakeService,
  view: LedgerView,
  { apiKeys }: LedgerLocation,
  unsent: ReadonlySet<string>,
): Promise<string[]> {
  const problems: string[] = [];
  const attempts = await view.attempts();
  const attemptsByTask = new Map<string, LedgerAttempt[]>();
  for (const attempt of attempts) {
    const { task_id } = attempt;
    if (task_id !== null) attemptsByTask.set(task_id, [...(attemptsByTask.get(task_id) ?? []), attempt]);
  }
  const hasFinalStatus = ({ task_id, status }: LedgerAttempt): boolean =>
    task_id !== null && service.tasks.get(task_id)?.status === toServiceStatus(status);
  // Each API key has its own record of a request (docs/reference-requests.md, Changing the API key). When the work
  // continues under the other key, the record of the first key stays as it is.
  const isSuperseded = (attempt: LedgerAttempt): boolean => {
    const { status, task_id, fingerprint } = attempt;
    if (task_id !== null)
      return !hasFinalStatus(attempt) && (attemptsByTask.get(task_id) ?? []).some(hasFinalStatus);
    // The send of the first key has no answer, and the budget leaves no room for one of the other key.
    if (status === "unresolved" && unsent.has(keyOf(attempt))) return true;
    const isUnanswered = status === "waiting" || status === "unresolved";
    return (
      isUnanswered && attempts.some((other) => other.fingerprint === fingerprint && other.task_id !== null)
    );
  };
  const superseded = attempts.filter(isSuperseded);
  const remaining = attempts.filter((attempt) => !superseded.includes(attempt));
  for (const attempt of remaining) {
    const { id, status, task_id } = attempt;
    const key = keyOf(attempt);
    if (status === "waiting" && unsent.has(key)) continue;
    if (task_id === null) problems.push(`record ${id} (${key}) stayed ${status}`);
    else if (!hasFinalStatus(attempt))
      problems.push(
        `task ${task_id} is ${status} in the ledger and ${service.tasks.get(task_id)?.status} at the service`,
      );
  }
  const succeeded = [...service.tasks.values()].filter(({ status }) => status === "succeeded");
  for (const { id } of succeeded) {
    const count = attemptsByTask.get(id)?.length ?? 0;
    if (count < 1 || count > apiKeys.length) problems.push(`${count} records hold task ${id}`);
  }
  const unreleased = remaining.filter(({ is_open }) => is_open === 1);
  if (unreleased.length > 0)
    problems.push(`concurrency slots are held by ${unreleased.map(({ id }) => id).join(", ")}`);
  const charged = succeeded.length * chargeForSeconds(service.audioSeconds);
  const unanswered = superseded.filter(({ status }) => status === "unresolved").length * RESERVED_CREDITS;
  const spent = await view.spentCredits();
  if (spent !== charged + unanswered)
    problems.push(
      `the budget counts ${spent} credits, the service charged ${charged}, ${unanswered} are in doubt`,
    );
  return problems;
}

/** Compares the ledger with the service once everything has ended. Corrects nothing. */
import { chargeForSeconds, RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import type { RequestRecord } from "../../../src/ledger/record.ts";
import type { FakeService } from "../../support/fake-service.ts";
import { type LedgerLocation, LedgerView } from "../../support/ledger-view.ts";

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
  const records = await view.records();
  const recordsByTask = new Map<string, RequestRecord[]>();
  for (const record of records) {
    const { taskId } = record;
    if (taskId !== null) recordsByTask.set(taskId, [...(recordsByTask.get(taskId) ?? []), record]);
  }
  const hasFinalStatus = ({ taskId, status }: RequestRecord): boolean =>
    taskId !== null && service.tasks.get(taskId)?.status === status;
  // Each API key has its own record of a request (docs/reference-requests.md, Changing the API key). When the work
  // continues under the other key, the record of the first key stays as it is.
  const isSuperseded = (record: RequestRecord): boolean => {
    const { status, taskId, requestFingerprint } = record;
    if (taskId !== null)
      return !hasFinalStatus(record) && (recordsByTask.get(taskId) ?? []).some(hasFinalStatus);
    const isUnanswered = status === "waiting" || status === "unresolved";
    return (
      isUnanswered &&
      records.some((other) => other.requestFingerprint === requestFingerprint && other.taskId !== null)
    );
  };
  const supersededRecords = records.filter(isSuperseded);
  for (const record of records.filter((candidate) => !supersededRecords.includes(candidate))) {
    const { recordId, status, taskId, idempotencyKey } = record;
    if (status === "waiting" && unsent.has(idempotencyKey ?? "")) continue;
    if (taskId === null) problems.push(`record ${recordId} (${idempotencyKey}) stayed ${status}`);
    else if (!hasFinalStatus(record))
      problems.push(
        `task ${taskId} is ${status} in the ledger and ${service.tasks.get(taskId)?.status} at the service`,
      );
  }
  const succeeded = [...service.tasks.values()].filter(({ status }) => status === "succeeded");
  for (const { id } of succeeded) {
    const count = recordsByTask.get(id)?.length ?? 0;
    if (count < 1 || count > apiKeys.length) problems.push(`${count} records hold task ${id}`);
  }
  const slots = await view.concurrencySlots();
  const unreleasedSlots = slots.filter(
    (name) => !supersededRecords.some(({ recordId }) => name.endsWith(recordId)),
  );
  if (unreleasedSlots.length > 0)
    problems.push(`concurrency slots are held by ${unreleasedSlots.join(", ")}`);
  const charged = succeeded.length * chargeForSeconds(service.audioSeconds);
  const unanswered =
    supersededRecords.filter(({ status }) => status === "unresolved").length * RESERVED_CREDITS;
  const spendOf = (summed: readonly RequestRecord[]): number =>
    summed.reduce((sum, { spend }) => sum + (spend?.credits ?? 0), 0);
  // Several keys may have a record of one task. The task counts once.
  const duplicateSpend = [...recordsByTask.values()].reduce((sum, all) => {
    const counted = all.find(hasFinalStatus);
    return sum + spendOf(all.filter((record) => record !== counted));
  }, 0);
  const expected = charged + unanswered;
  const spent = await view.spentCredits();
  if (spent !== expected)
    problems.push(
      `the budget counts ${spent} credits, the service charged ${charged}, ${unanswered} are in doubt`,
    );
  const recordedSpend = spendOf(records) - duplicateSpend;
  if (recordedSpend !== spent)
    problems.push(`the records spend ${recordedSpend} credits, the budget counts ${spent}`);
  return problems;
}

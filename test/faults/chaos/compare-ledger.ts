/** Compares the ledger with the service once everything has ended. Corrects nothing. */
import { chargeForSeconds, RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import type { RequestRecord } from "../../../src/ledger/record.ts";
import type { FakeService } from "../../support/fake-service.ts";
import { type LedgerLocation, LedgerView } from "../../support/ledger-view.ts";

/**
 * Returns every disagreement.
 *
 * @param unsent idempotency keys of submissions that the budget refused; their records may wait
 */
export async function compareLedger(
  service: FakeService,
  where: LedgerLocation,
  unsent: ReadonlySet<string>,
): Promise<string[]> {
  const view = await LedgerView.open(where);
  try {
    return await compareWith(service, view, where, unsent);
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
  const wrong: string[] = [];
  const records = await view.records();
  const holders = new Map<string, RequestRecord[]>();
  for (const record of records) {
    const { taskId } = record;
    if (taskId !== null) holders.set(taskId, [...(holders.get(taskId) ?? []), record]);
  }
  const knowsTheEnd = ({ taskId, status }: RequestRecord): boolean =>
    taskId !== null && service.tasks.get(taskId)?.status === status;
  // Each key has its own record (docs/reference-requests.md, Changing the API key). A claim, a send or a task under one key
  // stays there when the work continues under the other.
  const isLeft = (record: RequestRecord): boolean => {
    const { status, taskId, requestFingerprint } = record;
    if (taskId !== null) return !knowsTheEnd(record) && (holders.get(taskId) ?? []).some(knowsTheEnd);
    const isUnanswered = status === "waiting" || status === "unresolved";
    return (
      isUnanswered &&
      records.some((other) => other.requestFingerprint === requestFingerprint && other.taskId !== null)
    );
  };
  const left = records.filter(isLeft);
  for (const record of records.filter((candidate) => !left.includes(candidate))) {
    const { recordId, status, taskId, idempotencyKey } = record;
    if (status === "waiting" && unsent.has(idempotencyKey ?? "")) continue;
    if (taskId === null) wrong.push(`record ${recordId} (${idempotencyKey}) stayed ${status}`);
    else if (!knowsTheEnd(record))
      wrong.push(
        `task ${taskId} is ${status} in the ledger and ${service.tasks.get(taskId)?.status} at the service`,
      );
  }
  const succeeded = [...service.tasks.values()].filter(({ status }) => status === "succeeded");
  for (const { id } of succeeded) {
    const count = holders.get(id)?.length ?? 0;
    if (count < 1 || count > apiKeys.length) wrong.push(`${count} records hold task ${id}`);
  }
  const held = await view.concurrencySlots();
  const taken = held.filter((name) => !left.some(({ recordId }) => name.endsWith(recordId)));
  if (taken.length > 0) wrong.push(`concurrency slots are held by ${taken.join(", ")}`);
  const charged = succeeded.length * chargeForSeconds(service.audioSeconds);
  const unanswered = left.filter(({ status }) => status === "unresolved").length * RESERVED_CREDITS;
  const spendOf = (some: readonly RequestRecord[]): number =>
    some.reduce((sum, { spend }) => sum + (spend?.credits ?? 0), 0);
  // Several keys may have a record of one task. The task counts once.
  const twice = [...holders.values()].reduce((sum, all) => {
    const counted = all.find(knowsTheEnd);
    return sum + spendOf(all.filter((record) => record !== counted));
  }, 0);
  const expected = charged + unanswered;
  const spent = await view.spentCredits();
  if (spent !== expected)
    wrong.push(
      `the budget counts ${spent} credits, the service charged ${charged}, ${unanswered} are in doubt`,
    );
  const ofRecords = spendOf(records) - twice;
  if (ofRecords !== spent) wrong.push(`the records spend ${ofRecords} credits, the budget counts ${spent}`);
  return wrong;
}

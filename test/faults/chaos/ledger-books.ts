/** Compares the ledger's books with those of the service, once everything has ended; mends nothing. */
import { chargeForSeconds, RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import type { TaskRecord } from "../../../src/ledger/record.ts";
import type { CountingService } from "../../support/counting-service.ts";
import { type LedgerPlaceAndKeys, LedgerView } from "../../support/ledger-view.ts";

/**
 * Everything that does not agree now.
 *
 * @param mostRecordsOfATask 2 where both keys are used at the same time: either may then have made the task
 */
export async function compareLedger(
  service: CountingService,
  where: LedgerPlaceAndKeys,
  mostRecordsOfATask: number,
): Promise<string[]> {
  const view = await LedgerView.open(where);
  try {
    return await compareWith(service, view, mostRecordsOfATask);
  } finally {
    await view.close();
  }
}

async function compareWith(
  service: CountingService,
  view: LedgerView,
  mostRecordsOfATask: number,
): Promise<string[]> {
  const wrong: string[] = [];
  const records = await view.records();
  const holders = new Map<string, number>();
  // Two keys count as two accounts (docs/design.md, Keys): a claim or a send that was left under one of them stays
  // there when the work is done under the other.
  const isOfOtherKey = ({ status, workId }: TaskRecord): boolean =>
    (status === "waiting" || status === "unresolved") &&
    records.some((other) => other.workId === workId && other.taskId !== null);
  const left = records.filter(isOfOtherKey);
  for (const record of records) {
    const { recordId, status, taskId, idempotencyKey } = record;
    if (!left.includes(record) && (status === "waiting" || status === "unresolved"))
      wrong.push(`record ${recordId} (${idempotencyKey}) stayed ${status}`);
    if (taskId !== null) holders.set(taskId, (holders.get(taskId) ?? 0) + 1);
    const task = taskId === null ? undefined : service.tasks.get(taskId);
    if (taskId !== null && task?.status !== status)
      wrong.push(`task ${taskId} is ${status} in the ledger and ${task?.status} at the service`);
  }
  const succeeded = [...service.tasks.values()].filter(({ status }) => status === "succeeded");
  const charge = chargeForSeconds(service.audioSeconds);
  let allowed = left.filter(({ status }) => status === "unresolved").length * RESERVED_CREDITS;
  for (const { id } of succeeded) {
    const count = holders.get(id) ?? 0;
    if (count < 1 || count > mostRecordsOfATask) wrong.push(`${count} records hold task ${id}`);
    allowed += Math.max(0, count - 1) * charge;
  }
  const held = await view.inFlight();
  const inFlight = held.filter((name) => !left.some(({ recordId }) => name.endsWith(recordId)));
  if (inFlight.length > 0) wrong.push(`places in flight are held by ${inFlight.join(", ")}`);
  const charged = succeeded.length * charge;
  const spent = await view.spentCredits();
  if (spent !== charged + allowed)
    wrong.push(`the budget counts ${spent} credits, the service charged ${charged}, ${allowed} are in doubt`);
  const ofRecords = records.reduce((sum, { spend }) => sum + (spend?.credits ?? 0), 0);
  if (ofRecords !== spent) wrong.push(`the records spend ${ofRecords} credits, the budget counts ${spent}`);
  return wrong;
}

/** Compares the ledger's books with those of the service, once everything has ended; mends nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import { chargeForSeconds } from "../../../src/contract/billing.ts";
import type { CountingService } from "../../support/counting-service.ts";
import { type LedgerPlaceAndKeys, LedgerView } from "../../support/ledger-view.ts";

/** What a process owed to the store is told with its signs of life; a killed one's places lapse. */
const SETTLES_WITHIN_MS = 8000;

/** Everything that does not agree now. */
async function compareOnce(service: CountingService, where: LedgerPlaceAndKeys): Promise<string[]> {
  const view = await LedgerView.open(where);
  try {
    return await compareWith(service, view);
  } finally {
    await view.close();
  }
}

async function compareWith(service: CountingService, view: LedgerView): Promise<string[]> {
  const wrong: string[] = [];
  const records = await view.records();
  const holders = new Map<string, number>();
  for (const { recordId, status, taskId, idempotencyKey } of records) {
    if (status === "waiting" || status === "unresolved")
      wrong.push(`record ${recordId} (${idempotencyKey}) stayed ${status}`);
    if (taskId !== null) holders.set(taskId, (holders.get(taskId) ?? 0) + 1);
    const task = taskId === null ? undefined : service.tasks.get(taskId);
    if (taskId !== null && task?.status !== status)
      wrong.push(`task ${taskId} is ${status} in the ledger and ${task?.status} at the service`);
  }
  const succeeded = [...service.tasks.values()].filter(({ status }) => status === "succeeded");
  for (const { id } of succeeded) {
    if (holders.get(id) !== 1) wrong.push(`${holders.get(id) ?? 0} records hold task ${id}`);
  }
  const inFlight = await view.inFlight();
  if (inFlight.length > 0) wrong.push(`places in flight are held by ${inFlight.join(", ")}`);
  const charged = succeeded.length * chargeForSeconds(service.audioSeconds);
  const spent = await view.spentCredits();
  if (spent !== charged) wrong.push(`the budget counts ${spent} credits, the service charged ${charged}`);
  const ofRecords = records.reduce((sum, { spend }) => sum + (spend?.credits ?? 0), 0);
  if (ofRecords !== spent) wrong.push(`the records spend ${ofRecords} credits, the budget counts ${spent}`);
  return wrong;
}

/** Everything that still does not agree when what was owed has had its time. */
export async function compareLedger(service: CountingService, where: LedgerPlaceAndKeys): Promise<string[]> {
  const giveUpAtMs = performance.now() + SETTLES_WITHIN_MS;
  for (;;) {
    const wrong = await compareOnce(service, where).catch((error: unknown) => [String(error)]);
    if (wrong.length === 0 || performance.now() > giveUpAtMs) return wrong;
    await sleep(100);
  }
}

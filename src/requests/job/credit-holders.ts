/**
 * Finds requests whose reserved credits may have caused a 402. Most of these credits return when the requests end.
 */
import { MAX_CONCURRENT_TASKS } from "../../contract/service-limits.ts";
import { Deadline } from "../../deadline.ts";
import { deriveConcurrencySlotState, RECORD_STATUSES, type RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";

/** Number of records to read for each status: the two tasks that can run, and one that ended during the submission. */
const MAX_PER_STATUS = MAX_CONCURRENT_TASKS + 1;

/**
 * After the service refused a submission for lack of credits, lists the other requests of this API key that hold
 * credits.
 *
 * @param refused the record of the refused submission, with the time it was sent
 * @returns the ids of the records that hold credits: wait until one of them releases its credits. An empty list: send
 *   again now, because a request has ended since the submission was sent and may have freed credits. `null`: do not
 *   wait, because no other request holds credits
 */
export async function findCreditHolders(refused: RequestRecord, deps: RequestDeps): Promise<string[] | null> {
  const otherRecords = await listOtherRequests(refused, deps);
  const reservingRequests = otherRecords.filter((other) => reservesCredits(other, deps));
  const sentAtMs = refused.sentAtMs ?? Number.POSITIVE_INFINITY;
  const hasEnded = otherRecords.some(({ finishedAtMs }) => finishedAtMs !== null && finishedAtMs >= sentAtMs);
  if (hasEnded) return [];
  return reservingRequests.length > 0 ? reservingRequests.map(({ recordId }) => recordId) : null;
}

/** Waits until one of the holders releases its credits, or the recovery timeout passes. */
export async function waitForCredits(
  refused: RequestRecord,
  deps: RequestDeps,
  holders: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { clock, timing } = deps;
  const recovery = new Deadline(clock, timing.recoveryTimeoutMs);
  for (let currentHolderIds = new Set(holders); holders.every((name) => currentHolderIds.has(name)); ) {
    if (holders.length === 0 || recovery.isOver) return;
    await clock.sleep(timing.pollIntervalMs, signal);
    const otherRecords = await listOtherRequests(refused, deps);
    currentHolderIds = new Set(
      otherRecords.filter((other) => reservesCredits(other, deps)).map(({ recordId }) => recordId),
    );
  }
}

/**
 * Whether a record holds credits. A submission without a response counts only for one lease period after its send,
 * because it may never become known whether the service accepted it.
 */
function reservesCredits(record: RequestRecord, { clock, ledger }: RequestDeps): boolean {
  const state = deriveConcurrencySlotState(record);
  if (state !== "unresolved") return state === "accepted";
  return clock.wallMs() - (record.sentAtMs ?? 0) < ledger.leaseTtlMs;
}

async function listOtherRequests(refused: RequestRecord, { ledger }: RequestDeps): Promise<RequestRecord[]> {
  const lists = await Promise.all(
    RECORD_STATUSES.map((status) => ledger.list({ apiKeys: "own", status, limit: MAX_PER_STATUS })),
  );
  return lists.flat().filter(({ recordId }) => recordId !== refused.recordId);
}

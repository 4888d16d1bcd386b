/**
 * Finds requests whose reserved credits may have caused a 402. Most of these credits return when the requests end.
 */
import type { Deadline } from "../../deadline.ts";
import { deriveConcurrencySlotState, RECORD_STATUSES, type RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";

/**
 * Maximum number of records to read for each status, newest first. If fewer tasks than this were created after a task
 * that ended during the submission, that task is read.
 */
const MAX_PER_STATUS = 100;

/** The credits that other requests of the API key have reserved. */
export type ReservedCredits =
  /** These records have reserved credits: wait until one of them returns its reservation. */
  | { readonly kind: "reserved"; readonly recordIds: readonly string[] }
  /** A request has ended since the submission was sent, and may have returned credits: send again now. */
  | { readonly kind: "returned" }
  /** No other request has reserved credits: do not wait. */
  | { readonly kind: "none" };

/**
 * Finds the credits that other requests have reserved. Call this after the service refused a submission for lack of
 * credits.
 *
 * @param refused the record of the refused submission, with the time it was sent
 */
export async function findReservedCredits(
  refused: RequestRecord,
  deps: RequestDeps,
): Promise<ReservedCredits> {
  const otherRecords = await listOtherRequests(refused, deps);
  const sentAtMs = refused.sentAtMs ?? Number.POSITIVE_INFINITY;
  // An end in the future was recorded by a clock that was ahead. It does not count, because it would count forever.
  const nowMs = deps.clock.wallMs();
  const hasEnded = otherRecords.some(
    ({ finishedAtMs }) => finishedAtMs !== null && finishedAtMs >= sentAtMs && finishedAtMs <= nowMs,
  );
  if (hasEnded) return { kind: "returned" };
  const recordIds = listReservingIds(otherRecords, deps);
  return recordIds.length > 0 ? { kind: "reserved", recordIds } : { kind: "none" };
}

/** Waits until one of the records has returned its reservation, or the deadline passes. */
export async function waitForReturnedCredits(
  refused: RequestRecord,
  deps: RequestDeps,
  recordIds: readonly string[],
  {
    deadline,
    signal,
    resumeOthers,
  }: { readonly deadline: Deadline; readonly signal: AbortSignal; readonly resumeOthers: () => void },
): Promise<void> {
  const { clock, timing } = deps;
  for (let reservingIds = new Set(recordIds); recordIds.every((id) => reservingIds.has(id)); ) {
    if (deadline.isOver) return;
    // The process that watched a task may have been killed. Without this, nobody would see the end of the task.
    resumeOthers();
    await clock.sleep(Math.min(timing.pollIntervalMs, deadline.leftMs), signal);
    reservingIds = new Set(listReservingIds(await listOtherRequests(refused, deps), deps));
  }
}

const listReservingIds = (records: readonly RequestRecord[], deps: RequestDeps): string[] =>
  records.filter((record) => hasReservedCredits(record, deps)).map(({ recordId }) => recordId);

/**
 * Whether a record has reserved credits. An unresolved submission counts only for one lease period after its send,
 * because it may never become known whether the service accepted it. An accepted task counts only as long as its job
 * watches it.
 */
function hasReservedCredits(record: RequestRecord, { clock, ledger, timing }: RequestDeps): boolean {
  const state = deriveConcurrencySlotState(record);
  if (state === null) return false;
  return state === "accepted"
    ? clock.wallMs() - (record.acceptedAtMs ?? 0) < timing.recoveryTimeoutMs
    : clock.wallMs() - (record.sentAtMs ?? 0) < ledger.leaseTtlMs;
}

async function listOtherRequests(refused: RequestRecord, { ledger }: RequestDeps): Promise<RequestRecord[]> {
  const lists = await Promise.all(
    RECORD_STATUSES.map((status) =>
      ledger.list({ apiKeys: "own", status, includesParts: true, limit: MAX_PER_STATUS }),
    ),
  );
  return lists.flat().filter(({ recordId }) => recordId !== refused.recordId);
}

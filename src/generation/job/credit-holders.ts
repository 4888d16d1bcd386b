/** Whose reservations a 402 may be about: other requests of the account, which give most of them back when they end. */
import { IN_FLIGHT_TASKS } from "../../contract/service-limits.ts";
import { Deadline } from "../../deadline.ts";
import { flightOf, RECORD_STATUSES, type TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";

/** As many of each status are looked at: those in flight, and the few that ended while a create was under way. */
const MAX_PER_STATUS = IN_FLIGHT_TASKS + 1;

/**
 * The other requests of this account that held credits when a create was refused for want of them.
 *
 * @param refused the record whose create it was, with the time it was sent
 * @returns names of those that still hold some, empty if they have ended since; `null` where nobody held any, so that
 *   waiting brings nothing
 */
export async function creditHolders(refused: TaskRecord, deps: GenerationDeps): Promise<string[] | null> {
  const others = await otherRequests(refused, deps);
  const holding = others.filter((other) => isHolding(other, deps));
  const sentAtMs = refused.sentAtMs ?? Number.POSITIVE_INFINITY;
  const hasEnded = others.some(({ finishedAtMs }) => finishedAtMs !== null && finishedAtMs >= sentAtMs);
  if (hasEnded) return [];
  return holding.length > 0 ? holding.map(({ recordId }) => recordId) : null;
}

/** Waits until one of them holds nothing any more, which may be all that is needed; or the recovery window is over. */
export async function waitForCredits(
  refused: TaskRecord,
  deps: GenerationDeps,
  holders: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { clock, timing } = deps;
  const recovery = new Deadline(clock, timing.recoveryMs);
  for (let holding = new Set(holders); holders.every((name) => holding.has(name)); ) {
    if (holders.length === 0 || recovery.isOver) return;
    await clock.sleep(timing.pollIntervalMs, signal);
    const others = await otherRequests(refused, deps);
    holding = new Set(others.filter((other) => isHolding(other, deps)).map(({ recordId }) => recordId));
  }
}

/** A create whose answer was not seen: as long as a process that hangs would keep its lease; it may never be learnt. */
function isHolding(record: TaskRecord, { clock, ledger }: GenerationDeps): boolean {
  const flight = flightOf(record);
  if (flight !== "sent") return flight === "accepted";
  return clock.wallMs() - (record.sentAtMs ?? 0) < ledger.leaseTtlMs;
}

async function otherRequests(refused: TaskRecord, { ledger }: GenerationDeps): Promise<TaskRecord[]> {
  const lists = await Promise.all(
    RECORD_STATUSES.map((status) => ledger.list({ accounts: "own", status, limit: MAX_PER_STATUS })),
  );
  return lists.flat().filter(({ recordId }) => recordId !== refused.recordId);
}

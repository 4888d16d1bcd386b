/** The admission of a create, and that of a query or download: every limit asked in its order, in one transaction. */
import type { Admission, AdmitRequest, LedgerIdentity, ReadAdmission, ReadRequest } from "../ledger-store.ts";
import type { Session } from "./database.ts";
import { othersInFlight } from "./flights.ts";
import { livingHolder } from "./leases.ts";
import { keyOf, putRow, readRow, type StoredRow } from "./record-rows.ts";
import { countingSlots, isSlotPending, pauseLeftMs, rateWaitMs, takeSlot } from "./slots.ts";
import { countedCredits, forgetOld } from "./spend-sums.ts";

export interface Times {
  readonly steadyMs: number;
  readonly wallMs: number;
}

/** Asked before any limit: only the process that may send this record at all is told how long to wait. */
function conflictOf(
  session: Session,
  nowMs: number,
  holder: string,
  stored: StoredRow | undefined,
  expectedRevision: number,
): Admission | undefined {
  const leaseHolder = stored === undefined ? null : livingHolder(session, nowMs, stored);
  const isLeaseLost = leaseHolder !== null && leaseHolder !== holder;
  if (stored?.revision === expectedRevision && !isLeaseLost) return undefined;
  return { kind: "conflict", value: stored?.value, isLeaseLost };
}

function holdOf(session: Session, nowMs: number, request: AdmitRequest, key: string): Admission | undefined {
  const { after, windowMs } = request;
  const { accountId } = after;
  const pausedMs = pauseLeftMs(session, nowMs, accountId, "creates");
  if (pausedMs > 0) return { kind: "held", reason: "paused", waitMs: pausedMs };

  const seen = countingSlots(session, nowMs, { accountId, limitClass: "creates", windowMs }, request.slotId);
  const rateMs = rateWaitMs(seen, request.maxCreates, nowMs, windowMs);
  if (rateMs > 0) return { kind: "held", reason: "rate", waitMs: rateMs };

  const ends = othersInFlight(session, nowMs, request, { accountId, key });
  const firstThatHelps = ends[ends.length - request.maxInFlight];
  if (firstThatHelps !== undefined) {
    return { kind: "held", reason: "in_flight", waitMs: firstThatHelps - nowMs };
  }
  return undefined;
}

export function admitCreate(
  session: Session,
  { steadyMs, wallMs }: Times,
  { holder, origin }: LedgerIdentity,
  request: AdmitRequest,
): Admission {
  const { after, budget, slotId } = request;
  const key = keyOf(after.accountId, after.recordId);
  const stored = readRow(session, key);
  const isRepeat = stored?.value === after.value && isSlotPending(session, slotId);
  if (isRepeat) return { kind: "admitted" };

  const conflict = conflictOf(session, steadyMs, holder, stored, request.expectedRevision);
  if (conflict !== undefined) return conflict;
  if (budget !== null) {
    const without = stored?.spend ?? null;
    const counted = countedCredits(session, wallMs, { origin, windowMs: budget.windowMs, without });
    if (counted + (after.spend?.credits ?? 0) > budget.credits) {
      return { kind: "over_budget", countedCredits: counted };
    }
  }
  const hold = holdOf(session, steadyMs, request, key);
  if (hold !== undefined) return hold;

  // Sent anew, its time in flight begins anew.
  putRow(session, stored, after, { flight: after.flight, atMs: steadyMs, holder });
  session.run(
    "UPDATE records SET lease_holder = ?, lease_at_ms = ? WHERE key = ? AND lease_ttl_ms IS NOT NULL",
    holder,
    steadyMs,
    key,
  );
  takeSlot(session, steadyMs, { slotId, accountId: after.accountId, limitClass: "creates", holder });
  forgetOld(session, wallMs, origin);
  return { kind: "admitted" };
}

export function admitRead(
  session: Session,
  nowMs: number,
  { accountId, holder }: LedgerIdentity,
  { slotId, maxReads, windowMs }: ReadRequest,
): ReadAdmission {
  const pausedMs = pauseLeftMs(session, nowMs, accountId, "reads");
  if (pausedMs > 0) return { kind: "held", reason: "paused", waitMs: pausedMs };
  const seen = countingSlots(session, nowMs, { accountId, limitClass: "reads", windowMs }, slotId);
  const rateMs = rateWaitMs(seen, maxReads, nowMs, windowMs);
  if (rateMs > 0) return { kind: "held", reason: "rate", waitMs: rateMs };
  takeSlot(session, nowMs, { slotId, accountId, limitClass: "reads", holder });
  return { kind: "admitted", usedReads: seen.length + 1 };
}

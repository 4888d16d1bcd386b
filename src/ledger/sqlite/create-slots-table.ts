/** Owns the admission of creates in the ledger file: rate slots and in-flight slots; leaves money to spend-table. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AccountId, CreateAdmission, CreateOutcome, CreateRequest, HolderId } from "../coordinator.ts";
import { IN_FLIGHT_AT_MOST_MS, SLOT_KEPT_MS } from "../horizons.ts";
import type { Session } from "./database.ts";
import { pauseLeftMs } from "./read-slots-table.ts";
import { countedCredits, releaseReservation, reserve, spendState } from "./spend-table.ts";

const seenRow = z.object({ seen_at_ms: z.number() });
const slotRow = z.object({
  account_id: z.string(),
  record_id: z.string(),
  attempt: z.int(),
  holder: z.string(),
});
const IN_FLIGHT_STATES = ["pending", "unanswered", "accepted"] as const;
const inFlightRow = z.object({
  record_id: z.string(),
  state: z.enum(IN_FLIGHT_STATES),
  prior_state: z.enum(IN_FLIGHT_STATES).nullable(),
  seen_at_ms: z.number(),
  attempted_at_ms: z.number(),
});
type InFlight = z.infer<typeof inFlightRow>;

/** Times that lie ahead were written before the machine restarted its steady clock: they count from now, once. */
function clampFuture(session: Session, nowMs: number, accountId: AccountId): void {
  session.run(
    "UPDATE create_slots SET seen_at_ms = ? WHERE account_id = ? AND seen_at_ms > ?",
    nowMs,
    accountId,
    nowMs,
  );
  // Plain placeholders throughout: Node 22 cannot bind numbered ones by their order.
  session.run(
    `UPDATE in_flight SET seen_at_ms = min(seen_at_ms, ?), attempted_at_ms = min(attempted_at_ms, ?)
     WHERE account_id = ? AND max(seen_at_ms, attempted_at_ms) > ?`,
    nowMs,
    nowMs,
    accountId,
    nowMs,
  );
}

function forgetOld(session: Session, nowMs: number, accountId: AccountId, windowMs: number): void {
  session.run(
    "DELETE FROM create_slots WHERE account_id = ? AND seen_at_ms <= ?",
    accountId,
    nowMs - windowMs - SLOT_KEPT_MS,
  );
  session.run(
    "DELETE FROM in_flight WHERE account_id = ? AND max(seen_at_ms, attempted_at_ms) <= ?",
    accountId,
    nowMs - IN_FLIGHT_AT_MOST_MS - SLOT_KEPT_MS,
  );
}

/** When the slot lapses by itself, in steady milliseconds; a task's end frees it earlier. */
function lapsesAtMs(slot: InFlight, request: CreateRequest): number {
  if (slot.state === "accepted") return slot.attempted_at_ms + IN_FLIGHT_AT_MOST_MS;
  const seenEnd = slot.seen_at_ms + request.lapseMs;
  if (slot.state === "pending") return seenEnd;
  // A living process that gave an attempt up must not hold its slot for as long as it lives.
  return Math.min(seenEnd, slot.attempted_at_ms + request.windowMs + request.lapseMs);
}

export function admitCreate(
  session: Session,
  nowMs: number,
  wallMs: number,
  request: CreateRequest,
): CreateAdmission {
  const { accountId, recordId, attempt, maxCreates, windowMs } = request;
  if (request.budget !== null) {
    const counted = countedCredits(session, wallMs, { ...request, windowMs: request.budget.windowMs });
    if (counted + request.credits > request.budget.credits) {
      return { admitted: false, reason: "budget", countedCredits: counted };
    }
  }
  clampFuture(session, nowMs, accountId);
  const pausedMs = pauseLeftMs(session, nowMs, accountId, "creates");
  if (pausedMs > 0) return { admitted: false, reason: "paused", waitMs: pausedMs };

  const seen = seenRow
    .array()
    .parse(
      session.all(
        "SELECT seen_at_ms FROM create_slots WHERE account_id = ? AND seen_at_ms > ? ORDER BY seen_at_ms DESC LIMIT ?",
        accountId,
        nowMs - windowMs,
        maxCreates,
      ),
    );
  const oldestThatCounts = seen[maxCreates - 1];
  if (oldestThatCounts !== undefined) {
    return { admitted: false, reason: "rate", waitMs: oldestThatCounts.seen_at_ms + windowMs - nowMs };
  }

  const inFlight = inFlightRow
    .array()
    .parse(session.all("SELECT * FROM in_flight WHERE account_id = ?", accountId));
  const others = inFlight
    .filter((slot) => slot.record_id !== recordId)
    .map((slot) => lapsesAtMs(slot, request))
    .filter((endMs) => endMs > nowMs);
  if (others.length >= request.maxInFlight) {
    return { admitted: false, reason: "in_flight", waitMs: Math.min(...others) - nowMs };
  }

  forgetOld(session, nowMs, accountId, windowMs);
  // An attempt grows only when the service said that the earlier one's task has failed.
  session.run("DELETE FROM in_flight WHERE record_id = ? AND attempt < ?", recordId, attempt);
  session.run(
    `INSERT INTO in_flight (record_id, attempt, account_id, holder, state, prior_state, seen_at_ms, attempted_at_ms)
     VALUES (?, ?, ?, ?, 'pending', NULL, ?, ?)
     ON CONFLICT (record_id, attempt) DO UPDATE SET
       prior_state = CASE WHEN state = 'pending' THEN coalesce(prior_state, 'unanswered') ELSE state END,
       account_id = excluded.account_id, holder = excluded.holder, state = excluded.state,
       seen_at_ms = excluded.seen_at_ms, attempted_at_ms = excluded.attempted_at_ms`,
    recordId,
    attempt,
    accountId,
    request.holder,
    nowMs,
    nowMs,
  );
  reserve(session, wallMs, request);
  const slotId = randomUUID();
  session.run(
    `INSERT INTO create_slots (slot_id, account_id, record_id, attempt, holder, is_pending, seen_at_ms)
     VALUES (?, ?, ?, ?, ?, 1, ?)`,
    slotId,
    accountId,
    recordId,
    attempt,
    request.holder,
    nowMs,
  );
  return { admitted: true, slotId };
}

export function settleCreate(session: Session, nowMs: number, slotId: string, outcome: CreateOutcome): void {
  const row = session.get(
    "SELECT account_id, record_id, attempt, holder FROM create_slots WHERE slot_id = ? AND is_pending = 1",
    slotId,
  );
  if (row === undefined) return;
  const slot = slotRow.parse(row);
  if (outcome === "unsent") session.run("DELETE FROM create_slots WHERE slot_id = ?", slotId);
  else session.run("UPDATE create_slots SET is_pending = 0, seen_at_ms = ? WHERE slot_id = ?", nowMs, slotId);

  if (outcome === "accepted") {
    holdInFlight(session, nowMs, slot.account_id, slot.record_id, slot.attempt);
    return;
  }
  const heldRow = session.get(
    "SELECT * FROM in_flight WHERE record_id = ? AND attempt = ? AND state = 'pending'",
    slot.record_id,
    slot.attempt,
  );
  if (heldRow === undefined) return;
  const prior = inFlightRow.parse(heldRow).prior_state;
  const next = prior ?? (outcome === "unanswered" ? "unanswered" : null);
  if (next === null) {
    session.run("DELETE FROM in_flight WHERE record_id = ? AND attempt = ?", slot.record_id, slot.attempt);
    releaseReservation(session, slot.record_id, slot.attempt);
  } else {
    session.run(
      `UPDATE in_flight SET state = ?, prior_state = NULL, seen_at_ms = ?, attempted_at_ms = ?
       WHERE record_id = ? AND attempt = ?`,
      next,
      nowMs,
      nowMs,
      slot.record_id,
      slot.attempt,
    );
  }
}

/** Counts a task as in flight until its end is told, unless its end was told already. */
export function holdInFlight(
  session: Session,
  nowMs: number,
  accountId: AccountId,
  recordId: string,
  attempt: number,
): void {
  if (spendState(session, recordId, attempt) === "ended") return;
  session.run(
    `INSERT INTO in_flight (record_id, attempt, account_id, holder, state, prior_state, seen_at_ms, attempted_at_ms)
     VALUES (?, ?, ?, '', 'accepted', NULL, ?, ?)
     ON CONFLICT (record_id, attempt) DO UPDATE SET
       account_id = excluded.account_id, state = excluded.state, prior_state = NULL,
       seen_at_ms = excluded.seen_at_ms, attempted_at_ms = excluded.attempted_at_ms`,
    recordId,
    attempt,
    accountId,
    nowMs,
    nowMs,
  );
}

export function releaseInFlight(session: Session, recordId: string, attempt: number): void {
  session.run("DELETE FROM in_flight WHERE record_id = ? AND attempt = ?", recordId, attempt);
}

export function heartbeatCreates(session: Session, nowMs: number, holder: HolderId): void {
  session.run("UPDATE create_slots SET seen_at_ms = ? WHERE holder = ? AND is_pending = 1", nowMs, holder);
  session.run("UPDATE in_flight SET seen_at_ms = ? WHERE holder = ? AND state <> 'accepted'", nowMs, holder);
}

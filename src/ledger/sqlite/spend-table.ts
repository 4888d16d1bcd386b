/** Owns what was reserved and charged, and when, in the ledger file; the only room that counts a budget. */
import { z } from "zod";
import type { BudgetQuery, CreateRequest } from "../coordinator.ts";
import { IN_FLIGHT_AT_MOST_MS } from "../horizons.ts";
import type { Session } from "./database.ts";

const sumRow = z.object({ counted: z.number() });
const openRow = z.object({ is_open: z.int() });

/** Credits of the origin inside the budget's window, but for the very attempt that asks. Dates ahead count. */
export function countedCredits(session: Session, wallMs: number, query: BudgetQuery): number {
  return sumRow.parse(
    session.get(
      `SELECT coalesce(sum(counted_credits), 0) AS counted FROM spend
       WHERE origin = ? AND reserved_at_ms > ? AND NOT (record_id = ? AND attempt = ?)`,
      query.origin,
      wallMs - query.windowMs,
      query.recordId,
      query.attempt,
    ),
  ).counted;
}

/** Opens or renews the reservation of one attempt. */
export function reserve(
  session: Session,
  wallMs: number,
  request: Pick<CreateRequest, "recordId" | "attempt" | "origin" | "credits">,
): void {
  session.run(
    `INSERT INTO spend (record_id, attempt, origin, counted_credits, charged_credits, is_open, reserved_at_ms)
     VALUES (?, ?, ?, ?, NULL, 1, ?)
     ON CONFLICT (record_id, attempt) DO UPDATE SET origin = excluded.origin,
       counted_credits = excluded.counted_credits, is_open = 1, reserved_at_ms = excluded.reserved_at_ms`,
    request.recordId,
    request.attempt,
    request.origin,
    request.credits,
    wallMs,
  );
}

/** Nothing was bought: back to what was charged for this attempt before, or to nothing. */
export function releaseReservation(session: Session, recordId: string, attempt: number): void {
  session.run(
    "DELETE FROM spend WHERE record_id = ? AND attempt = ? AND charged_credits IS NULL",
    recordId,
    attempt,
  );
  session.run(
    "UPDATE spend SET counted_credits = charged_credits, is_open = 0 WHERE record_id = ? AND attempt = ?",
    recordId,
    attempt,
  );
}

/** Replaces the reservation by the charge, dated when it is learnt but no later than it can have fallen. */
export function charge(
  session: Session,
  wallMs: number,
  recordId: string,
  attempt: number,
  credits: number,
): void {
  session.run(
    `UPDATE spend SET counted_credits = ?, charged_credits = ?, is_open = 0,
       reserved_at_ms = max(reserved_at_ms, min(?, reserved_at_ms + ?))
     WHERE record_id = ? AND attempt = ? AND is_open = 1`,
    credits,
    credits,
    wallMs,
    IN_FLIGHT_AT_MOST_MS,
    recordId,
    attempt,
  );
}

/** `none`: never reserved here; `open`: its end is not known; `ended`: charged or refunded. */
export function spendState(session: Session, recordId: string, attempt: number): "none" | "open" | "ended" {
  const row = session.get("SELECT is_open FROM spend WHERE record_id = ? AND attempt = ?", recordId, attempt);
  if (row === undefined) return "none";
  return openRow.parse(row).is_open === 1 ? "open" : "ended";
}

/** Who has sent what in the last window, the pauses that a service asked for, and the processes' signs of life. */
import { z } from "zod";
import type { HolderId } from "../../holder.ts";
import { IN_FLIGHT_AT_MOST_MS } from "../horizons.ts";
import type { LimitClass, Settlement } from "../ledger-store.ts";
import type { Session } from "./database.ts";

const seenRows = z.object({ seen_at_ms: z.number() }).array();
const pauseRow = z.object({ set_at_ms: z.number(), length_ms: z.number() });

/** The slots that one admission is about. */
export interface SlotClass {
  readonly accountId: string;
  readonly limitClass: LimitClass;
  readonly windowMs: number;
}

/**
 * When the slots were seen that count now, newest first. A pending one was seen when its process was; one that has
 * been answered, at its answer. Those that count no more are deleted.
 *
 * @param exceptSlotId of an admission that is repeated
 */
export function countingSlots(
  session: Session,
  nowMs: number,
  { accountId, limitClass, windowMs }: SlotClass,
  exceptSlotId: string,
): number[] {
  bringBackSigns(session, nowMs);
  session.run(
    "UPDATE slots SET seen_at_ms = ? WHERE account_id = ? AND limit_class = ? AND seen_at_ms > ?",
    nowMs,
    accountId,
    limitClass,
    nowMs,
  );
  session.run(
    `DELETE FROM slots WHERE account_id = ? AND limit_class = ? AND seen_at_ms <= ? AND NOT (is_pending = 1
       AND EXISTS (SELECT 1 FROM alive WHERE alive.holder = slots.holder AND alive.seen_at_ms > ?))`,
    accountId,
    limitClass,
    nowMs - windowMs,
    nowMs - windowMs,
  );
  const rows = session.all(
    `SELECT CASE WHEN is_pending = 1 THEN max(slots.seen_at_ms, coalesce(alive.seen_at_ms, slots.seen_at_ms))
       ELSE slots.seen_at_ms END AS seen_at_ms
     FROM slots LEFT JOIN alive ON alive.holder = slots.holder
     WHERE account_id = ? AND limit_class = ? AND slot_id <> ? ORDER BY 1 DESC`,
    accountId,
    limitClass,
    exceptSlotId,
  );
  return seenRows.parse(rows).map(({ seen_at_ms }) => seen_at_ms);
}

/** Milliseconds until one more fits among those that count; 0 when it does. Where none is allowed, a whole window. */
export function rateWaitMs(
  seenAtMs: readonly number[],
  most: number,
  nowMs: number,
  windowMs: number,
): number {
  if (most < 1) return windowMs;
  const oldestThatCounts = seenAtMs[most - 1];
  return oldestThatCounts === undefined ? 0 : oldestThatCounts + windowMs - nowMs;
}

/** An admission that is repeated, because its answer was lost, keeps the slot that it has. */
export function takeSlot(
  session: Session,
  nowMs: number,
  slot: { readonly slotId: string; readonly holder: HolderId } & Omit<SlotClass, "windowMs">,
): void {
  session.run(
    `INSERT INTO slots (slot_id, account_id, limit_class, holder, is_pending, seen_at_ms) VALUES (?, ?, ?, ?, 1, ?)
     ON CONFLICT (slot_id) DO NOTHING`,
    slot.slotId,
    slot.accountId,
    slot.limitClass,
    slot.holder,
    nowMs,
  );
}

export function isSlotPending(session: Session, slotId: string): boolean {
  return session.get("SELECT 1 FROM slots WHERE slot_id = ? AND is_pending = 1", slotId) !== undefined;
}

export function settleSlot(session: Session, nowMs: number, { slotId, outcome }: Settlement): void {
  if (outcome === "unsent") {
    session.run("DELETE FROM slots WHERE slot_id = ? AND is_pending = 1", slotId);
  } else {
    session.run(
      "UPDATE slots SET is_pending = 0, seen_at_ms = ? WHERE slot_id = ? AND is_pending = 1",
      nowMs,
      slotId,
    );
  }
}

/** Milliseconds until this class may send again; 0 when nothing holds it. */
export function pauseLeftMs(
  session: Session,
  nowMs: number,
  accountId: string,
  limitClass: LimitClass,
): number {
  // Set before the machine restarted its steady clock: it counts once more from now, and then is over.
  session.run(
    "UPDATE pauses SET set_at_ms = ? WHERE account_id = ? AND limit_class = ? AND set_at_ms > ?",
    nowMs,
    accountId,
    limitClass,
    nowMs,
  );
  const row = session.get(
    "SELECT set_at_ms, length_ms FROM pauses WHERE account_id = ? AND limit_class = ?",
    accountId,
    limitClass,
  );
  if (row === undefined) return 0;
  const { set_at_ms, length_ms } = pauseRow.parse(row);
  return Math.max(0, set_at_ms + length_ms - nowMs);
}

export function pause(
  session: Session,
  nowMs: number,
  accountId: string,
  limitClass: LimitClass,
  lengthMs: number,
): void {
  if (pauseLeftMs(session, nowMs, accountId, limitClass) >= lengthMs) return;
  session.run(
    `INSERT INTO pauses (account_id, limit_class, set_at_ms, length_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT (account_id, limit_class) DO UPDATE SET set_at_ms = excluded.set_at_ms,
       length_ms = excluded.length_ms`,
    accountId,
    limitClass,
    nowMs,
    lengthMs,
  );
}

export function noteAlive(session: Session, nowMs: number, holder: HolderId): void {
  bringBackSigns(session, nowMs);
  session.run("DELETE FROM alive WHERE seen_at_ms <= ?", nowMs - IN_FLIGHT_AT_MOST_MS);
  session.run(
    `INSERT INTO alive (holder, seen_at_ms) VALUES (?, ?)
     ON CONFLICT (holder) DO UPDATE SET seen_at_ms = excluded.seen_at_ms`,
    holder,
    nowMs,
  );
}

/** Signs that lie ahead were given before the machine restarted its steady clock: they count from now, once. */
function bringBackSigns(session: Session, nowMs: number): void {
  session.run("UPDATE alive SET seen_at_ms = ? WHERE seen_at_ms > ?", nowMs, nowMs);
}

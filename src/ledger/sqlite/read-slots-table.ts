/** Owns read slots and pauses in the ledger file; knows neither what is read nor why a pause was asked for. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AccountId, HolderId, LimitClass, ReadAdmission, ReadRequest } from "../coordinator.ts";
import type { Session } from "./database.ts";

const seenRow = z.object({ seen_at_ms: z.number() });
const pauseRow = z.object({ set_at_ms: z.number(), length_ms: z.number() });

/** Milliseconds until this class may send again; 0 when nothing holds it. */
export function pauseLeftMs(
  session: Session,
  nowMs: number,
  accountId: AccountId,
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
  accountId: AccountId,
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

export function admitRead(session: Session, nowMs: number, request: ReadRequest): ReadAdmission {
  const { accountId, holder, maxReads, windowMs } = request;
  session.run(
    "UPDATE read_slots SET seen_at_ms = ? WHERE account_id = ? AND seen_at_ms > ?",
    nowMs,
    accountId,
    nowMs,
  );
  session.run("DELETE FROM read_slots WHERE account_id = ? AND seen_at_ms <= ?", accountId, nowMs - windowMs);
  const pausedMs = pauseLeftMs(session, nowMs, accountId, "reads");
  if (pausedMs > 0) return { admitted: false, reason: "paused", waitMs: pausedMs };
  const seen = seenRow
    .array()
    .parse(
      session.all(
        "SELECT seen_at_ms FROM read_slots WHERE account_id = ? ORDER BY seen_at_ms DESC LIMIT ?",
        accountId,
        maxReads,
      ),
    );
  const oldestThatCounts = seen[maxReads - 1];
  if (oldestThatCounts !== undefined) {
    const waitMs = oldestThatCounts.seen_at_ms + windowMs - nowMs;
    return { admitted: false, reason: "rate", waitMs };
  }
  const slotId = randomUUID();
  session.run(
    "INSERT INTO read_slots (slot_id, account_id, holder, is_pending, seen_at_ms) VALUES (?, ?, ?, 1, ?)",
    slotId,
    accountId,
    holder,
    nowMs,
  );
  return { admitted: true, slotId, usedReads: seen.length + 1 };
}

export function settleRead(session: Session, nowMs: number, slotId: string): void {
  session.run(
    "UPDATE read_slots SET is_pending = 0, seen_at_ms = ? WHERE slot_id = ? AND is_pending = 1",
    nowMs,
    slotId,
  );
}

export function heartbeatReads(session: Session, nowMs: number, holder: HolderId): void {
  session.run("UPDATE read_slots SET seen_at_ms = ? WHERE holder = ? AND is_pending = 1", nowMs, holder);
}

/** Owns leases in the ledger file: who works on a name, and until when; knows nothing of the work. */
import { z } from "zod";
import type { HolderId } from "../coordinator.ts";
import type { Session } from "./database.ts";

const leaseRow = z.object({ holder: z.string(), renewed_at_ms: z.number(), ttl_ms: z.number() });

export function acquireLease(
  session: Session,
  nowMs: number,
  lease: { name: string; holder: HolderId; ttlMs: number; replacing: HolderId | undefined },
): { acquired: true } | { acquired: false; holder: HolderId } {
  const { name, holder, ttlMs, replacing } = lease;
  const row = session.get("SELECT holder, renewed_at_ms, ttl_ms FROM leases WHERE name = ?", name);
  if (row !== undefined) {
    const held = leaseRow.parse(row);
    if (held.renewed_at_ms > nowMs) {
      // Renewed before the machine restarted its steady clock: it lapses one whole length from now at the latest.
      session.run("UPDATE leases SET renewed_at_ms = ? WHERE name = ?", nowMs, name);
    }
    const isLapsed = nowMs - Math.min(held.renewed_at_ms, nowMs) >= held.ttl_ms;
    if (held.holder !== holder && held.holder !== replacing && !isLapsed) {
      return { acquired: false, holder: held.holder };
    }
  } else {
    // Leases of processes that died unreleased; only met by name otherwise.
    session.run("DELETE FROM leases WHERE renewed_at_ms + ttl_ms <= ?", nowMs);
  }
  session.run(
    `INSERT INTO leases (name, holder, renewed_at_ms, ttl_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,
       renewed_at_ms = excluded.renewed_at_ms, ttl_ms = excluded.ttl_ms`,
    name,
    holder,
    nowMs,
    ttlMs,
  );
  return { acquired: true };
}

export function releaseLease(session: Session, name: string, holder: HolderId): void {
  session.run("DELETE FROM leases WHERE name = ? AND holder = ?", name, holder);
}

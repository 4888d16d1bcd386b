/** Who drives a record, and until when: the lease that lies on its row. */
import type { HolderId } from "../../holder.ts";
import type { Claim, ClaimAnswer } from "../ledger-store.ts";
import type { Session } from "./database.ts";
import { keyOf, nextPlace, putRow, readRow, type StoredRow } from "./record-rows.ts";

export interface Now {
  readonly steadyMs: number;
  readonly holder: HolderId;
}

/** Who holds the lease of a row, unless it is free or has lapsed. */
export function livingHolder(session: Session, nowMs: number, { key, lease }: StoredRow): HolderId | null {
  if (lease === null) return null;
  if (lease.atMs > nowMs) {
    // Renewed before the machine restarted its steady clock: it lapses one whole length from now at the latest.
    session.run("UPDATE records SET lease_at_ms = ? WHERE key = ?", nowMs, key);
    return lease.holder;
  }
  return nowMs - lease.atMs < lease.ttlMs ? lease.holder : null;
}

export function claim(session: Session, now: Now, { row, leaseTtlMs, replacing }: Claim): ClaimAnswer {
  const key = keyOf(row.accountId, row.recordId);
  const stored = readRow(session, key);
  if (stored === undefined) putRow(session, undefined, row, nextPlace(undefined, row, now));
  else {
    const current = livingHolder(session, now.steadyMs, stored);
    if (current !== null && current !== now.holder && current !== replacing) {
      return { holder: current, value: stored.value };
    }
  }
  session.run(
    "UPDATE records SET lease_holder = ?, lease_at_ms = ?, lease_ttl_ms = ? WHERE key = ?",
    now.holder,
    now.steadyMs,
    leaseTtlMs,
    key,
  );
  return { holder: now.holder, value: stored?.value ?? row.value };
}

/** Renews a lease of this holder, however late; one that is another's or free stays so. */
export function renewLease(session: Session, now: Now, key: string): "renewed" | "lost" {
  const renewed = session.run(
    "UPDATE records SET lease_at_ms = ? WHERE key = ? AND lease_holder = ?",
    now.steadyMs,
    key,
    now.holder,
  );
  return renewed > 0 ? "renewed" : "lost";
}

export function releaseLease(session: Session, holder: HolderId, key: string): void {
  session.run(
    `UPDATE records SET lease_holder = NULL, lease_at_ms = NULL, lease_ttl_ms = NULL
     WHERE key = ? AND lease_holder = ?`,
    key,
    holder,
  );
}

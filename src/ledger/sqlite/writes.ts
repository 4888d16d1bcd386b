/** Compare and set of a record, with all that follows from the record. */
import type { Write, WriteAnswer } from "../ledger-store.ts";
import type { Durability, Session } from "./database.ts";
import { type Now, releaseLease, renewLease } from "./leases.ts";
import {
  changesNothingDear,
  dropRow,
  keyOf,
  nextPlace,
  putRow,
  readRow,
  type StoredRow,
} from "./record-rows.ts";
import { settleSlot } from "./slots.ts";

function isExpected(stored: StoredRow | undefined, revision: number | null): boolean {
  return revision === null ? stored === undefined : stored?.revision === revision;
}

/**
 * Asked before the transaction, when its durability must be chosen. That is sound: a row that has the expected
 * revision both now and then is the same row, and no other is written.
 */
export function durabilityOf(session: Session, write: Write): Durability {
  const stored = readRow(session, keyOf(write.accountId, write.recordId));
  if (stored === undefined || write.after === null || write.isDear === true) return "power_cut";
  if (!isExpected(stored, write.expectedRevision)) return "power_cut";
  return changesNothingDear(session, stored, write.after) ? "process_kill" : "power_cut";
}

export function writeRow(session: Session, now: Now, write: Write): WriteAnswer {
  const { accountId, recordId, expectedRevision, after, settle, lease = "renew" } = write;
  if (settle !== undefined) settleSlot(session, now.steadyMs, settle);
  const key = keyOf(accountId, recordId);
  const stored = readRow(session, key);
  if (!isExpected(stored, expectedRevision)) return { written: false, value: stored?.value };
  if (after === null) {
    if (stored !== undefined) dropRow(session, stored, "taken_back");
    return { written: true };
  }
  putRow(session, stored, after, nextPlace(stored, after, now));
  if (lease === "release") releaseLease(session, now.holder, key);
  else renewLease(session, now, key);
  return { written: true };
}

/** Whose a record is to drive, asked of a record that is there: asking must not bring one back that was forgotten. */
import type { Ledger } from "../../ledger/ledger.ts";
import type { TaskRecord } from "../../ledger/record.ts";

/**
 * Takes the lease of a record, where it can be had.
 *
 * @param known as it was read just now
 * @returns `null`: it has been refused, and forgotten, meanwhile
 */
export async function leadKnown(
  ledger: Ledger,
  known: TaskRecord,
): Promise<{ readonly record: TaskRecord; readonly isOurs: boolean } | null> {
  const claimed = await ledger.claim(known);
  const { accountId, recordId, revision } = claimed.record;
  // Whatever has a ticket was written after it was claimed; this one the claim itself has just written anew.
  if (revision > 0) return claimed;
  await ledger.store.write({
    accountId,
    recordId,
    expectedRevision: 0,
    after: null,
    durability: "process_kill",
  });
  return null;
}

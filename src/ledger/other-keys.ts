/** Records of several API keys that turn out to be of one account: one is to be left of each task. */
import { AudioError } from "../errors.ts";
import { recordId as recordIdOf } from "./identity.ts";
import type { Ledger } from "./ledger.ts";
import { rowOf, type TaskRecord } from "./record.ts";

/**
 * Forgets this account's record of a task that a record of another key tells of as well: both keys are of one
 * account, which the service has just shown by giving both the same task, and its credits are counted once.
 *
 * @returns whether there was such a record, and this one is gone
 */
export async function forgetTwin(ledger: Ledger, record: TaskRecord): Promise<boolean> {
  const { taskId, accountId, recordId, revision } = record;
  if (taskId === null) return false;
  const known = await ledger.ofTask(taskId);
  if (known.every((other) => other.accountId === accountId)) return false;
  const write = { accountId, recordId, expectedRevision: revision, after: null };
  if (!(await ledger.store.write(write)).written) return false;
  if ((await ledger.ofTask(taskId)).length > 0) return true;
  // The other key's process has forgotten its own at the same moment: counted twice is better than lost.
  await ledger.claim(record);
  return false;
}

/**
 * A record of another API key turned out to be this account's: it goes over, with what it counts, unless a living
 * process drives it.
 *
 * @returns the record as it is this account's now; `null` while it is driven elsewhere
 */
export async function adopt(ledger: Ledger, other: TaskRecord): Promise<TaskRecord | null> {
  const { accountId } = ledger.identity;
  const { record, isOurs } = await ledger.claim(other);
  if (!isOurs) return null;
  const recordId = recordIdOf(other.workId, accountId);
  const own = await ledger.get(recordId);
  const from = { accountId: record.accountId, recordId: record.recordId };
  if (own !== null && own.status !== "waiting") {
    // It went over a moment ago, and the claim has written the other's row anew: one of the two has to go.
    if (own.taskId === record.taskId) await ledger.store.adopt(from, rowOf(own));
    return own;
  }
  // A claim that was never sent makes room.
  if (own !== null) {
    await ledger.store.write({ accountId, recordId, expectedRevision: own.revision, after: null });
  }
  // The other key's handles name the other record; those that this account has given out stay good.
  const tickets = own?.tickets ?? [];
  const after = { ...record, accountId, recordId, tickets, revision: record.revision + 1 };
  await ledger.store.adopt(from, rowOf(after));
  const adopted = await ledger.get(recordId);
  if (adopted === null) {
    throw new AudioError("store_unavailable", "The ledger lost a record while it was in use.", {
      retryable: true,
    });
  }
  return adopted;
}

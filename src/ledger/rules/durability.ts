/** Decides which changes of a record must survive a power cut. Pure. */
import { isResumable, type RequestRecord } from "../record.ts";

/**
 * `survives_power_cut`: the change is on the disk before the promise resolves. `survives_process_kill`: the change
 * survives the death of every process, and reaches the disk with the next durable write.
 */
export type Durability = "survives_power_cut" | "survives_process_kill";

/**
 * Decides how durable a change must be. Money, task ids and files must survive a power cut. The status of an accepted
 * task may be lost as long as the record is resumable, because the service reports the status again.
 */
export function decideDurability(before: RequestRecord | null, after: RequestRecord | null): Durability {
  if (before === null || after === null) return "survives_power_cut";
  if (before.taskId !== after.taskId || !hasSameNames(before, after)) return "survives_power_cut";
  const isRepeatedByService = after.taskId !== null && isResumable(after);
  if (isRepeatedByService) return spendsMore(before, after) ? "survives_power_cut" : "survives_process_kill";
  const isSame = before.status === after.status && spendsTheSame(before, after);
  return isSame ? "survives_process_kill" : "survives_power_cut";
}

const hasSameNames = (before: RequestRecord, after: RequestRecord): boolean =>
  before.earlierTaskIds.length === after.earlierTaskIds.length &&
  before.files.length === after.files.length &&
  after.files.every(({ path }) => before.files.some((file) => file.path === path));

const spendsTheSame = ({ spend: one }: RequestRecord, { spend: other }: RequestRecord): boolean =>
  one?.credits === other?.credits && one?.atMs === other?.atMs;

/**
 * Whether the spend increases. A new date counts as an increase, because it may move the spend into another window of
 * the budget.
 */
const spendsMore = (before: RequestRecord, after: RequestRecord): boolean => {
  if (spendsTheSame(before, after)) return false;
  if (before.spend === null || after.spend === null) return true;
  return before.spend.atMs !== after.spend.atMs || after.spend.credits > before.spend.credits;
};

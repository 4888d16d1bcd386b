/** Parses the rows on which an admission decision is based. Builds the statements that select and change these rows. */
import { z } from "zod";
import type { RecordRow } from "../record.ts";
import type { BillLine } from "../rules/bill.ts";
import type { McpTask } from "../rules/mcp-task.ts";
import type { LedgerScope } from "./ledger-scope.ts";
import { buildSelectOpenMcpTasksStatement, parseMcpTaskRows } from "./mcp-task-rows.ts";
import { buildSelectBillStatement, parseBillLines } from "./narration-rows.ts";
import {
  buildSelectRecordStatements,
  type LoadedRecord,
  type OtherConcurrencySlot,
  parseLoadedRecord,
  parseOtherConcurrencySlots,
  RECORD_RESULT_COUNT,
} from "./record-rows.ts";
import { type Rows, type Statement, sql } from "./sql-engine.ts";

export interface LoadedAdmission {
  readonly loaded: LoadedRecord;
  /** The concurrency slots that the API key's other records have taken. */
  readonly otherConcurrencySlots: readonly OtherConcurrencySlot[];
  /** The credits spent at the service within the budget's window, without the spend of this record. */
  readonly spentInWindowCredits: number;
  readonly openMcpTasks: readonly McpTask[];
  /** The bill of the narration; empty for a direct request. */
  readonly bill: readonly BillLine[];
}

/**
 * Builds the statements whose results {@link parseLoadedAdmission} reads.
 *
 * @param lastBucket the newest quarter of an hour that the budget does not count
 */
export const buildSelectAdmissionStatements = (
  scope: LedgerScope,
  { apiKeyId, recordId, lookupKeys }: RecordRow,
  narrationId: string | null,
  lastBucket: number,
): Statement[] => [
  ...buildSelectRecordStatements({ apiKeyId, recordId }, lookupKeys),
  sql(
    `SELECT record_id, concurrency_slot_state, concurrency_slot_since_steady_ms, concurrency_slot_owner FROM agm_records
     WHERE api_key_id = ? AND concurrency_slot_state IS NOT NULL`,
    apiKeyId,
  ),
  buildSelectSpentCreditsStatement(scope.baseUrl, lastBucket),
  buildSelectOpenMcpTasksStatement(scope, recordId),
  ...(narrationId === null ? [] : [buildSelectBillStatement(scope, narrationId)]),
];

/**
 * Parses the results of {@link buildSelectAdmissionStatements}. Leaves out the concurrency slot and the spend of the
 * record `recordId`. The spend is still included if another record names the same task.
 */
export function parseLoadedAdmission(
  rows: readonly Rows[],
  recordId: string,
  lastBucket: number,
): LoadedAdmission {
  const loaded = parseLoadedRecord(rows);
  const [concurrencySlots = [], sums = [], mcpTasks = [], bill = []] = rows.slice(RECORD_RESULT_COUNT);
  return {
    loaded,
    otherConcurrencySlots: parseOtherConcurrencySlots(concurrencySlots).filter(
      (other) => other.recordId !== recordId,
    ),
    spentInWindowCredits: withoutOwnSpend(parseSpentCredits(sums), loaded, lastBucket),
    openMcpTasks: parseMcpTaskRows(mcpTasks),
    bill: parseBillLines(bill),
  };
}

/** Selects the spend at a service, summed over all API keys and all quarters of an hour after `lastBucket`. */
export const buildSelectSpentCreditsStatement = (baseUrl: string, lastBucket: number): Statement =>
  sql("SELECT sum(credits) AS credits FROM agm_spend WHERE base_url = ? AND bucket > ?", baseUrl, lastBucket);

const sumRowSchema = z.object({ credits: z.number().nullable() });

/** Parses the result of {@link buildSelectSpentCreditsStatement}. Returns 0 if no spend is stored. */
export const parseSpentCredits = ([row]: Rows): number =>
  row === undefined ? 0 : (sumRowSchema.parse(row).credits ?? 0);

/**
 * Subtracts the spend of the record that asks for admission. If records of other API keys name the same task, subtracts
 * nothing, because the budget must still count the task for those records.
 */
function withoutOwnSpend(
  spentCredits: number,
  { stored, otherTaskClaims }: LoadedRecord,
  lastBucket: number,
): number {
  const ownSpend = otherTaskClaims.length > 0 ? null : (stored?.spend ?? null);
  return ownSpend !== null && ownSpend.bucketIndex > lastBucket
    ? Math.max(0, spentCredits - ownSpend.credits)
    : spentCredits;
}

/** Statement that deletes the sums of the given quarter of an hour and of all earlier ones. */
export const buildDeleteSpendStatement = (baseUrl: string, lastBucket: number): Statement =>
  sql("DELETE FROM agm_spend WHERE base_url = ? AND bucket <= ?", baseUrl, lastBucket);

/**
 * Frees a concurrency slot that has expired, and keeps the time when the slot was taken. From this time, a later write
 * can see that the slot has expired. The slot then stays free, unless the write changes the record's status.
 */
export const buildFreeConcurrencySlotStatement = (apiKeyId: string, recordId: string): Statement =>
  sql(
    "UPDATE agm_records SET concurrency_slot_state = NULL WHERE api_key_id = ? AND record_id = ?",
    apiKeyId,
    recordId,
  );

/**
 * Stores the present time as the time when a concurrency slot was taken. Use this if the stored time is later than now.
 * Such a time was written before the steady clock restarted.
 */
export const buildClampConcurrencySlotStatement = (
  apiKeyId: string,
  recordId: string,
  nowSteadyMs: number,
): Statement =>
  sql(
    "UPDATE agm_records SET concurrency_slot_since_steady_ms = ? WHERE api_key_id = ? AND record_id = ?",
    nowSteadyMs,
    apiKeyId,
    recordId,
  );

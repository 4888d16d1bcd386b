/** Parses rows of records. Builds the statements that write a record, its lookup keys, and its spend in the sums. */
import { z } from "zod";
import { isTaskLookupKey } from "../identity.ts";
import type { RecordRow } from "../record.ts";
import type { ConcurrencySlot } from "../rules/concurrency-slots.ts";
import type { Lease } from "../rules/lease.ts";
import { countSpendOnce, type TaskClaim } from "../rules/shared-task.ts";
import { type BucketedSpend, computeSpendChanges, toBucketedSpend } from "../rules/spend.ts";
import { type Rows, type Statement, sql } from "./sql-engine.ts";

export interface RecordKey {
  readonly apiKeyId: string;
  readonly recordId: string;
}

const leaseColumns = {
  lease_owner: z.string().nullable().catch(null),
  lease_renewed_steady_ms: z.number().nullable().catch(null),
  lease_ttl_ms: z.number().nullable().catch(null),
};

/** Parses the lease in the columns of a record or a narration. */
export const leaseRowSchema = z
  .object(leaseColumns)
  .transform(
    ({ lease_owner: owner, lease_renewed_steady_ms: renewedSteadyMs, lease_ttl_ms: ttlMs }): Lease | null =>
      owner === null || renewedSteadyMs === null || ttlMs === null ? null : { owner, renewedSteadyMs, ttlMs },
  );

/**
 * Returns the values for `lease_owner`, `lease_renewed_steady_ms` and `lease_ttl_ms`, in this order. Without a lease,
 * all three are `null`.
 */
export const toLeaseValues = (lease: Lease | null): [string | null, number | null, number | null] => [
  lease?.owner ?? null,
  lease?.renewedSteadyMs ?? null,
  lease?.ttlMs ?? null,
];

/**
 * A damaged cell counts as empty. A record with a damaged revision is set aside at its next write (see `Ledger.apply`).
 */
const concurrencySlotColumns = {
  concurrency_slot_state: z.enum(["unresolved", "accepted"]).nullable().catch(null),
  concurrency_slot_since_steady_ms: z.number().nullable().catch(null),
  concurrency_slot_owner: z.string().nullable().catch(null),
};
const toConcurrencySlot = (row: z.infer<z.ZodObject<typeof concurrencySlotColumns>>): ConcurrencySlot => ({
  state: row.concurrency_slot_state,
  sinceSteadyMs: row.concurrency_slot_since_steady_ms,
  owner: row.concurrency_slot_owner,
});

const spendColumns = {
  spend_bucket: z.int().nullable().catch(null),
  spend_credits: z.number().nullable().catch(null),
};
const toSpend = (row: z.infer<z.ZodObject<typeof spendColumns>>): BucketedSpend | null =>
  row.spend_bucket === null || row.spend_credits === null
    ? null
    : { bucketIndex: row.spend_bucket, credits: row.spend_credits };

const parsedRowSchema = z
  .object({
    status: z.string().nullable().catch(null),
    base_url: z.string(),
    revision: z.int().nullable().catch(null),
    record_json: z.string(),
    ...spendColumns,
    ...concurrencySlotColumns,
    ...leaseColumns,
  })
  .transform((row) => ({
    status: row.status,
    baseUrl: row.base_url,
    revision: row.revision,
    recordJson: row.record_json,
    concurrencySlot: toConcurrencySlot(row),
    lease: leaseRowSchema.parse(row),
    spend: toSpend(row),
  }));
const lookupKeyRowSchema = z.object({ lookup_key: z.string() }).transform((row) => row.lookup_key);
const recordJsonRowSchema = z
  .object({ api_key_id: z.string(), record_id: z.string(), record_json: z.string() })
  .transform((row) => ({ apiKeyId: row.api_key_id, recordId: row.record_id, recordJson: row.record_json }));
const otherConcurrencySlotRowSchema = z
  .object({ record_id: z.string(), ...concurrencySlotColumns })
  .transform((row) => ({ recordId: row.record_id, concurrencySlot: toConcurrencySlot(row) }));

/** The JSON of a record, with the API key id and the record id of its row. */
export type RecordJsonRow = z.infer<typeof recordJsonRowSchema>;
export type OtherConcurrencySlot = z.infer<typeof otherConcurrencySlotRowSchema>;
export type ParsedRow = z.infer<typeof parsedRowSchema> & { readonly lookupKeys: readonly string[] };

/** Parses rows. Skips rows with damaged cells, because a damaged row must not hide all others. */
export function parseReadableRows<T>(schema: z.ZodType<T>, rows: Rows): T[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}

/** Parses rows that contain the JSON of a record, but does not parse this JSON. Skips unreadable rows. */
export const parseRecordJsonRows = (rows: Rows): RecordJsonRow[] =>
  parseReadableRows(recordJsonRowSchema, rows);
/**
 * Parses the rows of an API key's concurrency slots. Skips unreadable rows. The caller must leave out the record that
 * asks for admission.
 */
export const parseOtherConcurrencySlots = (rows: Rows): OtherConcurrencySlot[] =>
  parseReadableRows(otherConcurrencySlotRowSchema, rows);

const taskClaimRowSchema = z
  .object({ lookup_key: z.string(), status: z.string().nullable().catch(null), ...spendColumns })
  .transform((row) => ({ lookupKey: row.lookup_key, status: row.status, spend: toSpend(row) }));
type OtherTaskClaim = z.infer<typeof taskClaimRowSchema>;

/** A stored record, and what the records of other keys state about the same tasks. */
export interface LoadedRecord {
  readonly stored: ParsedRow | undefined;
  readonly otherTaskClaims: readonly OtherTaskClaim[];
}

/** The number of results that {@link parseLoadedRecord} reads. */
export const RECORD_RESULT_COUNT = 3;

/**
 * Builds the statements whose results {@link parseLoadedRecord} reads.
 *
 * @param lookupKeys the lookup keys that the record will have, by which other records of the same task are found
 */
export function buildSelectRecordStatements(
  { apiKeyId, recordId }: RecordKey,
  lookupKeys: readonly string[] = [],
): Statement[] {
  const task = lookupKeys.find(isTaskLookupKey) ?? "";
  return [
    sql("SELECT * FROM agm_records WHERE api_key_id = ? AND record_id = ?", apiKeyId, recordId),
    sql("SELECT lookup_key FROM agm_lookup_keys WHERE api_key_id = ? AND record_id = ?", apiKeyId, recordId),
    sql(
      `SELECT k.lookup_key, r.status, r.spend_bucket, r.spend_credits FROM agm_lookup_keys k
       JOIN agm_records r ON r.api_key_id = k.api_key_id AND r.record_id = k.record_id
       WHERE k.lookup_key IN (?, (SELECT min(own.lookup_key) FROM agm_lookup_keys own
           WHERE own.api_key_id = ? AND own.record_id = ? AND own.lookup_key LIKE 'task:%'))
         AND NOT (k.api_key_id = ? AND k.record_id = ?)`,
      task,
      apiKeyId,
      recordId,
      apiKeyId,
      recordId,
    ),
  ];
}

/** Parses the results of {@link buildSelectRecordStatements}, which must come first. Ignores further results. */
export function parseLoadedRecord([
  rows = [],
  lookupKeys = [],
  taskClaims = [],
]: readonly Rows[]): LoadedRecord {
  const [row] = rows;
  const stored =
    row === undefined
      ? undefined
      : { ...parsedRowSchema.parse(row), lookupKeys: parseReadableRows(lookupKeyRowSchema, lookupKeys) };
  return { stored, otherTaskClaims: parseReadableRows(taskClaimRowSchema, taskClaims) };
}

/** Statements that insert a row or overwrite the stored row, with its lookup keys and its spend. */
export function buildSaveRecordStatements(
  loaded: LoadedRecord,
  row: RecordRow,
  { concurrencySlot, lease }: { readonly concurrencySlot: ConcurrencySlot; readonly lease: Lease | null },
): Statement[] {
  const { stored } = loaded;
  const spend = toBucketedSpend(row.spend);
  const columns = [
    row.baseUrl,
    row.status,
    row.isResumable ? 1 : 0,
    row.isListed ? 1 : 0,
    row.createdAtMs,
    row.revision,
    concurrencySlot.state,
    concurrencySlot.sinceSteadyMs,
    concurrencySlot.owner,
    spend?.bucketIndex ?? null,
    spend?.credits ?? null,
    row.refusedAtMs,
    ...toLeaseValues(lease),
    row.recordJson,
  ];
  const upsert = sql(
    `INSERT INTO agm_records (api_key_id, record_id, base_url, status, is_resumable, is_listed, created_at_ms, revision, concurrency_slot_state,
       concurrency_slot_since_steady_ms, concurrency_slot_owner, spend_bucket, spend_credits, refused_at_ms, lease_owner, lease_renewed_steady_ms, lease_ttl_ms,
       record_json)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (api_key_id, record_id) DO UPDATE SET base_url = excluded.base_url, status = excluded.status,
       is_resumable = excluded.is_resumable, is_listed = excluded.is_listed, created_at_ms = excluded.created_at_ms,
       revision = excluded.revision, concurrency_slot_state = excluded.concurrency_slot_state,
       concurrency_slot_since_steady_ms = excluded.concurrency_slot_since_steady_ms,
       concurrency_slot_owner = excluded.concurrency_slot_owner, spend_bucket = excluded.spend_bucket,
       spend_credits = excluded.spend_credits, refused_at_ms = excluded.refused_at_ms, lease_owner = excluded.lease_owner,
       lease_renewed_steady_ms = excluded.lease_renewed_steady_ms, lease_ttl_ms = excluded.lease_ttl_ms, record_json = excluded.record_json`,
    row.apiKeyId,
    row.recordId,
    ...columns,
  );
  return [
    upsert,
    ...buildSaveLookupKeysStatements(row, stored?.lookupKeys ?? [], row.lookupKeys),
    ...buildSaveSpendStatements(row.baseUrl, loaded, {
      lookupKeys: row.lookupKeys,
      claim: { status: row.status, spend },
    }),
  ];
}

/**
 * Statements that remove a row with its lease, its concurrency slot and its lookup keys.
 *
 * @param shouldKeepSpend whether the sums still count the spend of the removed record; true for a damaged record,
 *   because its removal does not return its credits
 */
export function buildDeleteRecordStatements(
  key: RecordKey,
  loaded: LoadedRecord,
  shouldKeepSpend: boolean,
): Statement[] {
  const { stored } = loaded;
  if (stored === undefined) return [];
  return [
    sql("DELETE FROM agm_records WHERE api_key_id = ? AND record_id = ?", key.apiKeyId, key.recordId),
    ...buildSaveLookupKeysStatements(key, stored.lookupKeys, []),
    // To keep the spend, leave the sums unchanged, unless another record names the same task. In that case, the sums
    // count the other record's spend from now on.
    ...(shouldKeepSpend && loaded.otherTaskClaims.length === 0
      ? []
      : buildSaveSpendStatements(stored.baseUrl, loaded, null)),
  ];
}

/**
 * Statements that delete an API key's records with a refusal before `beforeMs` (wall-clock time). They also delete the
 * lookup keys and MCP tasks of these records.
 */
export function buildDeleteRefusedStatements(apiKeyId: string, beforeMs: number): Statement[] {
  const refused = "SELECT record_id FROM agm_records WHERE api_key_id = ? AND refused_at_ms < ?";
  return [
    sql(
      `DELETE FROM agm_lookup_keys WHERE api_key_id = ? AND record_id IN (${refused})`,
      apiKeyId,
      apiKeyId,
      beforeMs,
    ),
    sql(`DELETE FROM agm_mcp_tasks WHERE target_id IN (${refused})`, apiKeyId, beforeMs),
    sql("DELETE FROM agm_records WHERE api_key_id = ? AND refused_at_ms < ?", apiKeyId, beforeMs),
  ];
}

/**
 * Builds the statement that stores a record's lease; `null` removes the lease. The revision of the record stays the
 * same.
 */
export const buildSaveLeaseStatement = ({ apiKeyId, recordId }: RecordKey, lease: Lease | null): Statement =>
  sql(
    "UPDATE agm_records SET lease_owner = ?, lease_renewed_steady_ms = ?, lease_ttl_ms = ? WHERE api_key_id = ? AND record_id = ?",
    ...toLeaseValues(lease),
    apiKeyId,
    recordId,
  );

function buildSaveLookupKeysStatements(
  { apiKeyId, recordId }: RecordKey,
  before: readonly string[],
  after: readonly string[],
): Statement[] {
  return [
    ...before
      .filter((lookupKey) => !after.includes(lookupKey))
      .map((lookupKey) =>
        sql(
          "DELETE FROM agm_lookup_keys WHERE lookup_key = ? AND api_key_id = ? AND record_id = ?",
          lookupKey,
          apiKeyId,
          recordId,
        ),
      ),
    ...after
      .filter((lookupKey) => !before.includes(lookupKey))
      .map((lookupKey) =>
        sql(
          "INSERT INTO agm_lookup_keys (lookup_key, api_key_id, record_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
          lookupKey,
          apiKeyId,
          recordId,
        ),
      ),
  ];
}

/**
 * Statements that update the sums of spend. If several records name one task, the sums count this task once (see
 * rules/shared-task.ts).
 */
function buildSaveSpendStatements(
  baseUrl: string,
  { stored, otherTaskClaims }: LoadedRecord,
  after: { readonly lookupKeys: readonly string[]; readonly claim: TaskClaim } | null,
): Statement[] {
  const claimsOn = (task: string | undefined): TaskClaim[] =>
    otherTaskClaims.filter(({ lookupKey }) => lookupKey === task);
  const taskBefore = stored?.lookupKeys.find(isTaskLookupKey);
  const taskAfter = after?.lookupKeys.find(isTaskLookupKey);
  const ownBefore = stored === undefined ? [] : [stored];
  const ownAfter = after === null ? [] : [after.claim];
  const before = countSpendOnce([...claimsOn(taskBefore), ...ownBefore]);
  const countedAfter = countSpendOnce([...claimsOn(taskAfter), ...ownAfter]);
  const isSameTask = taskBefore === taskAfter;
  const afterLeaving = isSameTask ? null : countSpendOnce(claimsOn(taskBefore));
  const beforeJoining = isSameTask ? null : countSpendOnce(claimsOn(taskAfter));
  return computeSpendChanges([before, beforeJoining], [afterLeaving, countedAfter]).map(
    ({ bucketIndex, credits }) =>
      credits > 0
        ? sql(
            `INSERT INTO agm_spend (base_url, bucket, credits) VALUES (?, ?, ?)
           ON CONFLICT (base_url, bucket) DO UPDATE SET credits = agm_spend.credits + excluded.credits`,
            baseUrl,
            bucketIndex,
            credits,
          )
        : // Subtracts only from a sum that exists, because old sums are deleted.
          sql(
            `UPDATE agm_spend SET credits = CASE WHEN credits > ? THEN credits - ? ELSE 0 END
           WHERE base_url = ? AND bucket = ?`,
            -credits,
            -credits,
            baseUrl,
            bucketIndex,
          ),
  );
}

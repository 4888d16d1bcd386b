/** Parses rows of narrations and of their bills, and builds the statements that read and write them. */
import { z } from "zod";
import { AudioError } from "../../errors.ts";
import type { BillLine } from "../rules/bill.ts";
import type { Lease } from "../rules/lease.ts";
import { buildVisibleCondition, type LedgerScope } from "./ledger-scope.ts";
import { leaseRowSchema, parseReadableRows, toLeaseValues } from "./record-rows.ts";
import { type Rows, type Statement, sql } from "./sql-engine.ts";

const narrationRowSchema = z
  .object({
    api_key_id: z.string(),
    narration_id: z.string(),
    revision: z.int(),
    state: z.string(),
  })
  .transform((row) => ({
    apiKeyId: row.api_key_id,
    narrationId: row.narration_id,
    revision: row.revision,
    state: row.state,
  }));

export type NarrationRow = z.infer<typeof narrationRowSchema> & { readonly lease: Lease | null };

function parseNarrationRow(row: unknown): NarrationRow | null {
  const { data } = narrationRowSchema.safeParse(row);
  return data === undefined ? null : { ...data, lease: leaseRowSchema.parse(row) };
}

/**
 * Parses a row of a narration. A damaged lease counts as no lease.
 *
 * @throws AudioError `store_unavailable` if another column is damaged
 */
export function toNarrationRow(row: unknown): NarrationRow {
  const parsed = parseNarrationRow(row);
  if (parsed !== null) return parsed;
  throw new AudioError("store_unavailable", "The ledger's entry of this narration is damaged.", {
    remedy:
      "Tell the user. The audio of its parts is saved: a call with the text and another pause_seconds plans it anew, and pays for no part twice.",
  });
}

/**
 * Parses the rows of a list of narrations, and leaves out rows with damaged columns. A narration that is stored under
 * several API keys appears once, as it is stored under `apiKeyId` if it is.
 */
export function parseNarrationRows(rows: Rows, apiKeyId: string): NarrationRow[] {
  const rowsById = new Map<string, NarrationRow>();
  for (const row of rows) {
    const narration = parseNarrationRow(row);
    if (narration === null) continue;
    if (!rowsById.has(narration.narrationId) || narration.apiKeyId === apiKeyId)
      rowsById.set(narration.narrationId, narration);
  }
  return [...rowsById.values()];
}

/**
 * The fields of a narration's state that the admission of a submission needs. The narrations' own schema has the rest.
 */
const admissionFieldsSchema = z.looseObject({ status: z.string(), maxCredits: z.number().nullable() });

/**
 * Parses a narration's state: its credit limit, and whether the narration is wanted. A narration with an unreadable
 * state counts as not wanted.
 */
export function parseAdmissionFields(state: string): {
  readonly isNarrationWanted: boolean;
  readonly maxCredits: number;
} {
  try {
    const { status, maxCredits } = admissionFieldsSchema.parse(JSON.parse(state));
    return { isNarrationWanted: status === "running", maxCredits: maxCredits ?? 0 };
  } catch {
    return { isNarrationWanted: false, maxCredits: 0 };
  }
}

/**
 * Selects one narration by its id: that of this API key or, if there is none, the oldest visible narration of another
 * API key.
 */
export const buildSelectNarrationStatement = (
  { baseUrl, apiKeyId, machineId }: LedgerScope,
  narrationId: string,
  lock: "" | " FOR UPDATE",
): Statement =>
  sql(
    `SELECT * FROM agm_narrations WHERE narration_id = ? AND base_url = ? AND ${buildVisibleCondition("agm_narrations")}
     ORDER BY CASE WHEN api_key_id = ? THEN 0 ELSE 1 END, created_at_ms, api_key_id LIMIT 1${lock}`,
    narrationId,
    baseUrl,
    apiKeyId,
    machineId,
    apiKeyId,
  );

/**
 * Selects the newest visible narrations of the service, newest first. A narration that is stored under several API keys
 * is selected several times.
 */
export const buildSelectNewestNarrationsStatement = (
  { baseUrl, apiKeyId, machineId }: LedgerScope,
  limit: number,
): Statement =>
  sql(
    `SELECT * FROM agm_narrations WHERE base_url = ? AND ${buildVisibleCondition("agm_narrations")}
     ORDER BY created_at_ms DESC, narration_id LIMIT ?`,
    baseUrl,
    apiKeyId,
    machineId,
    limit,
  );

/** Selects all visible records of the requests on the bill. A task can have several records, one for each API key. */
export const buildSelectBillStatement = (
  { baseUrl, apiKeyId, machineId }: LedgerScope,
  narrationId: string,
): Statement =>
  sql(
    `SELECT t.request_lookup_key, r.api_key_id, r.spend_credits, r.concurrency_slot_state
     FROM agm_narration_requests t
     JOIN agm_lookup_keys k ON k.lookup_key = t.request_lookup_key
     JOIN agm_records r ON r.api_key_id = k.api_key_id AND r.record_id = k.record_id
     WHERE t.narration_id = ? AND t.base_url = ? AND ${buildVisibleCondition("t")} AND ${buildVisibleCondition("r")}`,
    narrationId,
    baseUrl,
    apiKeyId,
    machineId,
    apiKeyId,
    machineId,
  );

const billRowSchema = z
  .object({
    request_lookup_key: z.string(),
    api_key_id: z.string(),
    spend_credits: z.number().nullable().catch(null),
    concurrency_slot_state: z.string().nullable().catch(null),
  })
  .transform(
    (row): BillLine => ({
      requestLookupKey: row.request_lookup_key,
      apiKeyId: row.api_key_id,
      credits: row.spend_credits ?? 0,
      isReserved: row.concurrency_slot_state !== null,
      isUnresolved: row.concurrency_slot_state === "unresolved",
    }),
  );

/**
 * Parses the rows of a bill. Skips unreadable rows. A request has one line for each API key that has a record of it.
 */
export const parseBillLines = (rows: Rows): BillLine[] => parseReadableRows(billRowSchema, rows);

/** Statement that adds a request to the bill of a narration. */
export const buildAddToBillStatement = (
  { baseUrl, apiKeyId }: LedgerScope,
  narrationId: string,
  requestLookupKey: string,
): Statement =>
  sql(
    `INSERT INTO agm_narration_requests (base_url, narration_id, api_key_id, request_lookup_key)
     VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    baseUrl,
    narrationId,
    apiKeyId,
    requestLookupKey,
  );

/**
 * Builds the statement that stores a narration's lease; `null` removes the lease. The revision of the narration stays
 * the same.
 */
export const buildSaveNarrationLeaseStatement = (
  { apiKeyId, narrationId }: Pick<NarrationRow, "apiKeyId" | "narrationId">,
  lease: Lease | null,
): Statement =>
  sql(
    "UPDATE agm_narrations SET lease_owner = ?, lease_renewed_steady_ms = ?, lease_ttl_ms = ? WHERE api_key_id = ? AND narration_id = ?",
    ...toLeaseValues(lease),
    apiKeyId,
    narrationId,
  );

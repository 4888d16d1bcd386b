/** Rows of narrations and of their bills: the statements that read them, and what they say. */
import { z } from "zod";
import type { AccountId } from "../identity.ts";
import type { BillLine } from "../rules/bill.ts";
import type { Lease } from "../rules/lease.ts";
import { leaseRow, leaseValues, readableRows } from "./record-rows.ts";
import { type Rows, type Statement, sql } from "./sql-engine.ts";

/** Whose narrations are visible: this API key's, and those of the other keys that this machine has used. */
export interface Viewer {
  readonly origin: string;
  readonly accountId: AccountId;
  readonly machineId: string;
}

const rowSchema = z
  .object({
    key_id: z.string(),
    narration_id: z.string(),
    revision: z.int(),
    state: z.string(),
  })
  .transform((row) => ({
    keyId: row.key_id,
    narrationId: row.narration_id,
    revision: row.revision,
    state: row.state,
  }));

export type NarrationRow = z.infer<typeof rowSchema> & { readonly lease: Lease | null };

export const narrationRow = (row: unknown): NarrationRow => ({
  ...rowSchema.parse(row),
  lease: leaseRow.parse(row),
});

/** What a create needs to know of the state, which belongs to the narrations' own schema. */
const limitSchema = z.looseObject({ status: z.string(), maxCredits: z.number().nullable() });

/** A state that cannot be read wants nothing. */
export function narrationLimit(state: string): { readonly isWanted: boolean; readonly maxCredits: number } {
  try {
    const { status, maxCredits } = limitSchema.parse(JSON.parse(state));
    return { isWanted: status === "running", maxCredits: maxCredits ?? 0 };
  } catch {
    return { isWanted: false, maxCredits: 0 };
  }
}

const visible = (table: string): string => `(${table}.key_id = ? OR EXISTS (SELECT 1 FROM agm_machine_keys m
  WHERE m.machine_id = ? AND m.key_id = ${table}.key_id))`;

/** At most one row: this key's, else the oldest of the others. */
export const findNarration = (
  { origin, accountId, machineId }: Viewer,
  narrationId: string,
  lock: "" | " FOR UPDATE",
): Statement =>
  sql(
    `SELECT * FROM agm_narrations WHERE narration_id = ? AND origin = ? AND ${visible("agm_narrations")}
     ORDER BY CASE WHEN key_id = ? THEN 0 ELSE 1 END, created_at_ms, key_id LIMIT 1${lock}`,
    narrationId,
    origin,
    accountId,
    machineId,
    accountId,
  );

export const newestNarrations = ({ origin, accountId, machineId }: Viewer, limit: number): Statement =>
  sql(
    `SELECT * FROM agm_narrations WHERE origin = ? AND ${visible("agm_narrations")}
     ORDER BY created_at_ms DESC, narration_id LIMIT ?`,
    origin,
    accountId,
    machineId,
    limit,
  );

export const loadBill = ({ origin, accountId, machineId }: Viewer, narrationId: string): Statement =>
  sql(
    `SELECT t.work_id, t.key_id, r.spend_credits, r.flight
     FROM agm_narration_tasks t JOIN agm_records r ON r.key_id = t.key_id AND r.record_id = t.record_id
     WHERE t.narration_id = ? AND t.origin = ? AND ${visible("t")}`,
    narrationId,
    origin,
    accountId,
    machineId,
  );

const billRow = z
  .object({
    work_id: z.string(),
    key_id: z.string(),
    spend_credits: z.number().nullable().catch(null),
    flight: z.string().nullable().catch(null),
  })
  .transform(
    (row): BillLine => ({
      workId: row.work_id,
      keyId: row.key_id,
      credits: row.spend_credits ?? 0,
      isInFlight: row.flight !== null,
    }),
  );

export const billLines = (rows: Rows): BillLine[] => readableRows(billRow, rows);

/** Puts a request on a narration's bill. */
export const addToBill = (
  origin: string,
  narrationId: string,
  { keyId, recordId, workId }: { readonly keyId: string; readonly recordId: string; readonly workId: string },
): Statement =>
  sql(
    `INSERT INTO agm_narration_tasks (origin, narration_id, key_id, record_id, work_id)
     VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    origin,
    narrationId,
    keyId,
    recordId,
    workId,
  );

export const saveNarrationLease = (
  { keyId, narrationId }: Pick<NarrationRow, "keyId" | "narrationId">,
  lease: Lease | null,
): Statement =>
  sql(
    "UPDATE agm_narrations SET lease_owner = ?, lease_at_ms = ?, lease_ttl_ms = ? WHERE key_id = ? AND narration_id = ?",
    ...leaseValues(lease),
    keyId,
    narrationId,
  );

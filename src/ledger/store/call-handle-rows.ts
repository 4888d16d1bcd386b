/** Parses rows of call handles, and builds the statements that read and write them. */
import { z } from "zod";
import { type CallHandle, handleEndSchema, storedSaveOptionsSchema } from "../rules/call-handle.ts";
import { buildVisibleCondition, type LedgerScope } from "./ledger-scope.ts";
import { parseReadableRows } from "./record-rows.ts";
import { type Rows, type Statement, sql } from "./sql-engine.ts";

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const handleRow = z
  .object({
    handle_id: z.string(),
    kind: z.enum(["request", "narration"]),
    api_key_id: z.string(),
    target_id: z.string(),
    opened_at_ms: z.number(),
    attempt: z.int(),
    save_options: z.string().transform(parsed).pipe(storedSaveOptionsSchema),
    cancel_requested_at_ms: z.number().nullable(),
    ended_at_ms: z.number().nullable(),
    end_json: z.string().transform(parsed).pipe(handleEndSchema).nullable(),
  })
  .transform(
    (row): CallHandle => ({
      handleId: row.handle_id,
      kind: row.kind,
      apiKeyId: row.api_key_id,
      targetId: row.target_id,
      openedAtMs: row.opened_at_ms,
      attempt: row.attempt,
      saveOptions: row.save_options,
      cancelRequestedAtMs: row.cancel_requested_at_ms,
      endedAtMs: row.ended_at_ms,
      end: row.end_json,
    }),
  );

export const parseHandleRows = (rows: Rows = []): CallHandle[] => parseReadableRows(handleRow, rows);

/** Selects a call handle of this API key. */
export const selectHandle = ({ apiKeyId }: Pick<LedgerScope, "apiKeyId">, handleId: string): Statement =>
  sql("SELECT * FROM agm_call_handles WHERE handle_id = ? AND api_key_id = ?", handleId, apiKeyId);

/** Selects all call handles of one record or narration, oldest first, except those that have ended. */
export const selectOpenHandles = ({ apiKeyId, machineId }: LedgerScope, targetId: string): Statement =>
  sql(
    `SELECT * FROM agm_call_handles WHERE target_id = ? AND ended_at_ms IS NULL AND ${buildVisibleCondition("agm_call_handles")}
     ORDER BY opened_at_ms, handle_id`,
    targetId,
    apiKeyId,
    machineId,
  );

/** Writes a call handle. A stored call handle that has ended stays unchanged, so the write can be repeated safely. */
export const saveHandle = (row: CallHandle): Statement =>
  sql(
    `INSERT INTO agm_call_handles (handle_id, kind, api_key_id, target_id, opened_at_ms, attempt, save_options, cancel_requested_at_ms,
       ended_at_ms, end_json)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (handle_id) DO UPDATE SET cancel_requested_at_ms = excluded.cancel_requested_at_ms,
       ended_at_ms = excluded.ended_at_ms, end_json = excluded.end_json
     WHERE agm_call_handles.ended_at_ms IS NULL`,
    row.handleId,
    row.kind,
    row.apiKeyId,
    row.targetId,
    row.openedAtMs,
    row.attempt,
    JSON.stringify(row.saveOptions),
    row.cancelRequestedAtMs,
    row.endedAtMs,
    row.end === null ? null : JSON.stringify(row.end),
  );

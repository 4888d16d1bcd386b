/** Parses rows of MCP tasks, and builds the statements that read and write them. */
import { z } from "zod";
import { type McpTask, mcpTaskEndSchema } from "../rules/mcp-task.ts";
import { storedSaveOptionsSchema } from "../rules/save-options.ts";
import { buildVisibleCondition, type LedgerScope } from "./ledger-scope.ts";
import { parseReadableRows } from "./record-rows.ts";
import { type Rows, type Statement, sql } from "./sql-engine.ts";

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const mcpTaskRowSchema = z
  .object({
    mcp_task_id: z.string(),
    kind: z.enum(["request", "narration"]),
    api_key_id: z.string(),
    target_id: z.string(),
    opened_at_ms: z.number(),
    attempt: z.int(),
    save_options: z.string().transform(parseJson).pipe(storedSaveOptionsSchema),
    cancel_requested_at_ms: z.number().nullable(),
    ended_at_ms: z.number().nullable(),
    end_json: z.string().transform(parseJson).pipe(mcpTaskEndSchema).nullable(),
  })
  .transform(
    (row): McpTask => ({
      mcpTaskId: row.mcp_task_id,
      kind: row.kind,
      apiKeyId: row.api_key_id,
      targetId: row.target_id,
      openedAtMs: row.opened_at_ms,
      firstAttempt: row.attempt,
      saveOptions: row.save_options,
      cancelRequestedAtMs: row.cancel_requested_at_ms,
      endedAtMs: row.ended_at_ms,
      end: row.end_json,
    }),
  );

/** Parses rows of MCP tasks. Skips unreadable rows. */
export const parseMcpTaskRows = (rows: Rows = []): McpTask[] => parseReadableRows(mcpTaskRowSchema, rows);

/** Selects an MCP task of this API key. */
export const buildSelectMcpTaskStatement = (
  { apiKeyId }: Pick<LedgerScope, "apiKeyId">,
  mcpTaskId: string,
): Statement =>
  sql("SELECT * FROM agm_mcp_tasks WHERE mcp_task_id = ? AND api_key_id = ?", mcpTaskId, apiKeyId);

/** Selects all MCP tasks of one record or narration, oldest first, except those that have ended. */
export const buildSelectOpenMcpTasksStatement = (
  { apiKeyId, machineId }: LedgerScope,
  targetId: string,
): Statement =>
  sql(
    `SELECT * FROM agm_mcp_tasks WHERE target_id = ? AND ended_at_ms IS NULL AND ${buildVisibleCondition("agm_mcp_tasks")}
     ORDER BY opened_at_ms, mcp_task_id`,
    targetId,
    apiKeyId,
    machineId,
  );

/** Writes an MCP task. A stored MCP task that has ended stays unchanged, so the write can be repeated safely. */
export const buildSaveMcpTaskStatement = (row: McpTask): Statement =>
  sql(
    `INSERT INTO agm_mcp_tasks (mcp_task_id, kind, api_key_id, target_id, opened_at_ms, attempt, save_options, cancel_requested_at_ms,
       ended_at_ms, end_json)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (mcp_task_id) DO UPDATE SET cancel_requested_at_ms = excluded.cancel_requested_at_ms,
       ended_at_ms = excluded.ended_at_ms, end_json = excluded.end_json
     WHERE agm_mcp_tasks.ended_at_ms IS NULL`,
    row.mcpTaskId,
    row.kind,
    row.apiKeyId,
    row.targetId,
    row.openedAtMs,
    row.firstAttempt,
    JSON.stringify(row.saveOptions),
    row.cancelRequestedAtMs,
    row.endedAtMs,
    row.end === null ? null : JSON.stringify(row.end),
  );

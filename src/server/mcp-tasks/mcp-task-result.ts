/** Renders an MCP task for the answer to its call and for the answers to `tasks/get`. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import { isHandleOpen } from "../../ledger/handle-rows.ts";
import type { HandleRow } from "../../ledger/schema.ts";

/**
 * The interval at which clients should ask for an MCP task's status. It is short, because the answer comes from the
 * ledger and not from the service.
 */
const POLL_INTERVAL_MS = 1000;

const formatIsoTime = (ms: number): string => new Date(ms).toISOString();

/** Builds the fields that every MCP task has. `ttlMs` is `null`, because no call's end depends on it. */
const buildMcpTaskFields = ({ id, created_at_ms, updated_at_ms }: HandleRow) => ({
  taskId: id,
  createdAt: formatIsoTime(created_at_ms),
  lastUpdatedAt: formatIsoTime(updated_at_ms),
  ttlMs: null,
  pollIntervalMs: POLL_INTERVAL_MS,
});

/** Builds the answer to a call that goes on. With the MCP task, the client can fetch the call's result later. */
export const buildMcpTaskResult = (row: HandleRow): CallToolResult => ({
  resultType: "task",
  ...buildMcpTaskFields(row),
  status: "working",
  statusMessage: row.message,
  // Clients with the extension ignore `content`, which the SDK adds to every tool result.
  content: [],
});

const storedResult = z.record(z.string(), z.unknown());

/** Builds the answer to `tasks/get`, with the stored result of a call that has ended. */
export function buildMcpTaskDetails(row: HandleRow): Record<string, unknown> {
  const { status, message, result } = row;
  const fields = buildMcpTaskFields(row);
  if (isHandleOpen(row)) return { ...fields, status: "working", statusMessage: message };
  if (status === "cancelled") return { ...fields, status, statusMessage: message };
  const stored = storedResult.parse(JSON.parse(result ?? "{}"));
  return { ...fields, status, result: { resultType: "complete", ...stored } };
}

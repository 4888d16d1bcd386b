/** Renders the status of an MCP task for the answer to the call and for the answers to `tasks/get`. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Redact } from "../../redaction.ts";
import type { McpTaskStatus, WorkingStatus } from "../../requests/mcp-tasks/mcp-task-status.ts";

/**
 * The interval at which clients should ask for an MCP task's status. It is short, because the answer comes from the
 * ledger and not from the service.
 */
const POLL_INTERVAL_MS = 1000;

type McpTaskTimes = Pick<McpTaskStatus<unknown>, "mcpTaskId" | "createdAtMs" | "updatedAtMs">;

const formatIsoTime = (ms: number): string => new Date(ms).toISOString();

/** Builds the fields that every MCP task has. `ttlMs` is `null`, because MCP tasks do not expire. */
const buildMcpTaskFields = ({ mcpTaskId, createdAtMs, updatedAtMs }: McpTaskTimes) => ({
  taskId: mcpTaskId,
  createdAt: formatIsoTime(createdAtMs),
  lastUpdatedAt: formatIsoTime(updatedAtMs),
  ttlMs: null,
  pollIntervalMs: POLL_INTERVAL_MS,
});

/**
 * Builds the answer to a call that continues in the background. With the MCP task, the client can fetch the call's
 * result later.
 */
export function buildMcpTaskResult(status: WorkingStatus, redact: Redact): CallToolResult {
  return {
    resultType: "task",
    ...buildMcpTaskFields(status),
    status: "working",
    statusMessage: redact(status.message),
    // Clients with the extension ignore `content`, which the SDK adds to every tool result.
    content: [],
  };
}

/**
 * Renders the status of an MCP task.
 *
 * @param render renders the result or the error that the call would have returned
 */
export async function buildMcpTaskDetails(
  status: McpTaskStatus<unknown>,
  redact: Redact,
  render: () => Promise<CallToolResult>,
): Promise<Record<string, unknown>> {
  const task = buildMcpTaskFields(status);
  switch (status.kind) {
    case "working":
      return { ...task, status: "working", statusMessage: redact(status.message) };
    case "cancelled":
      return { ...task, status: "cancelled", statusMessage: redact(status.message) };
    case "done":
    case "error":
      return { ...task, status: "completed", result: { resultType: "complete", ...(await render()) } };
  }
}

/** A handle on the wire: what a call is answered with at first, and what is told of it later. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { HandleStatus, WorkingStatus } from "../../generation/handles/handle-status.ts";
import type { Redact } from "../../redaction.ts";

/** What a look costs here is a look into the ledger. */
const POLL_INTERVAL_MS = 1000;

type Head = Pick<HandleStatus<unknown>, "handle" | "createdAtMs" | "updatedAtMs">;

const iso = (ms: number): string => new Date(ms).toISOString();

/** A handle is good for as long as the ledger is. */
const taskFields = ({ handle, createdAtMs, updatedAtMs }: Head) => ({
  taskId: handle,
  createdAt: iso(createdAtMs),
  lastUpdatedAt: iso(updatedAtMs),
  ttlMs: null,
  pollIntervalMs: POLL_INTERVAL_MS,
});

/** The answer to a call that goes on without its client; its result is asked for by the handle. */
export function createTaskResult(status: WorkingStatus, redact: Redact): CallToolResult {
  return {
    resultType: "task",
    ...taskFields(status),
    status: "working",
    statusMessage: redact(status.message),
    // The official package puts it into every result of a tool; those who know tasks pass over it.
    content: [],
  };
}

/**
 * How a task stands.
 *
 * @param render what the call would have been answered with; its errors are results, too
 */
export async function detailedTask(
  status: HandleStatus<unknown>,
  redact: Redact,
  render: () => Promise<CallToolResult>,
): Promise<Record<string, unknown>> {
  const task = taskFields(status);
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

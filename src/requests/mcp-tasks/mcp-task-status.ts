/** The status of an MCP task as reported to clients. */
import type { AudioError } from "../../errors.ts";
import type { McpTask } from "../../ledger/rules/mcp-task.ts";

/** The status of an MCP task. `View` is the data from which the result is rendered. */
export type McpTaskStatus<View> = {
  readonly mcpTaskId: string;
  /** Wall clock time. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
} & (
  | { readonly kind: "working"; readonly message: string }
  /** `cancelled`, `done` and `error` are final. */
  | { readonly kind: "cancelled"; readonly message: string }
  | { readonly kind: "done"; readonly view: View }
  /** The MCP task ended with the error that the call would have thrown. */
  | { readonly kind: "error"; readonly error: AudioError }
);

export type WorkingStatus = McpTaskStatus<never> & { readonly kind: "working" };

/**
 * The answer to a call whose client accepts MCP tasks: the status of the MCP task while the work continues, or the view
 * of the result if there is nothing left to wait for.
 */
export type StatusOrView<View> = { readonly working: WorkingStatus } | { readonly view: View };

/** Operations on the MCP tasks of one kind: those of requests, or those of narrations. */
export interface McpTaskOperations<View> {
  /**
   * Reports the status of an MCP task. Resumes its work if no process is doing that work.
   *
   * @returns `null` if the ledger no longer has the record of the MCP task
   * @throws AudioError `store_unavailable`; the MCP task is unaffected
   */
  resumeAndGetStatus(mcpTask: McpTask): Promise<McpTaskStatus<View> | null>;
  /**
   * Cancels the MCP task unless it has ended.
   *
   * @throws AudioError `store_unavailable`
   */
  cancel(mcpTask: McpTask): Promise<void>;
}

/**
 * Adds the id and times of an MCP task to a status.
 *
 * @param changedAtMs time of the last change of the MCP task's record
 */
export function buildMcpTaskStatus<Kind>(
  { mcpTaskId, openedAtMs, endedAtMs }: McpTask,
  kind: Kind,
  changedAtMs = 0,
): Kind & { readonly mcpTaskId: string; readonly createdAtMs: number; readonly updatedAtMs: number } {
  const updatedAtMs = endedAtMs ?? Math.max(openedAtMs, changedAtMs);
  return { mcpTaskId, createdAtMs: openedAtMs, updatedAtMs, ...kind };
}

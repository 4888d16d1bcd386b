/**
 * Decides when an MCP task is shared, wanted or ended. Calls that are answered as tasks of the protocol's extension
 * have MCP tasks. Pure.
 */
import { z } from "zod";
import type { ApiKeyId } from "../identity.ts";
import { RECORD_STATUSES } from "../record.ts";
import { type StoredError, storedErrorSchema } from "../stored-error.ts";
import type { SaveOptions, storedSaveOptionsSchema } from "./save-options.ts";

/** How the MCP task ended. The fields besides `kind` differ between requests and narrations; see `requestEndSchema`. */
export const mcpTaskEndSchema = z.looseObject({ kind: z.string() });
export type McpTaskEnd = z.infer<typeof mcpTaskEndSchema>;

/** All times are wall-clock times. */
export interface McpTask {
  /** Random, so that it cannot be guessed. */
  readonly mcpTaskId: string;
  readonly kind: "request" | "narration";
  readonly apiKeyId: ApiKeyId;
  /** The id of the record or the narration. */
  readonly targetId: string;
  readonly openedAtMs: number;
  /**
   * The number of the first attempt made for the MCP task. A further attempt after a refunded failure belongs to the
   * MCP task, too.
   */
  readonly firstAttempt: number;
  readonly saveOptions: z.infer<typeof storedSaveOptionsSchema>;
  readonly cancelRequestedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly end: McpTaskEnd | null;
}

/** How the MCP task of a request ended. Written once, and the same for every process. */
export const requestEndSchema = z.discriminatedUnion("kind", [
  /** The audio of the request was saved. */
  z.object({ kind: z.literal("done") }),
  /** Nothing was sent for the request, and nothing will be sent. */
  z.object({ kind: z.literal("cancelled") }),
  z.object({ kind: z.literal("error"), error: storedErrorSchema }),
]);
export type RequestEnd = z.infer<typeof requestEndSchema>;

/** The facts that the rules need about an MCP task's record. */
const targetSchema = z.looseObject({
  status: z.enum(RECORD_STATUSES),
  attempt: z.int().positive(),
  taskId: z.string().nullable(),
});
export type McpTaskTarget = z.infer<typeof targetSchema>;

/** Parses an MCP task's record; `null` for a missing or unreadable one. */
export function parseMcpTaskTarget(recordJson: string | undefined): McpTaskTarget | null {
  try {
    return recordJson === undefined ? null : targetSchema.parse(JSON.parse(recordJson));
  } catch {
    return null;
  }
}

/** Returns whether an MCP task has neither ended nor been cancelled. */
export const isMcpTaskWanted = ({ endedAtMs, cancelRequestedAtMs }: McpTask): boolean =>
  endedAtMs === null && cancelRequestedAtMs === null;

/** A new MCP task, without the fields that depend on the state of its record or narration. */
export type McpTaskDraft = Pick<McpTask, "mcpTaskId" | "apiKeyId" | "targetId" | "openedAtMs">;

/** Returns the open MCP task with the same options. If there is none, returns a new MCP task. */
export function reuseOrOpenRequestMcpTask(
  open: readonly McpTask[],
  { status, attempt, taskId }: McpTaskTarget,
  draft: McpTaskDraft,
  { fileName, mayReplace }: SaveOptions,
): McpTask {
  const hasFailed = status === "failed";
  const shared = open.find(
    (mcpTask) =>
      isMcpTaskWanted(mcpTask) &&
      mcpTask.saveOptions.fileName === fileName &&
      mcpTask.saveOptions.mayReplace === mayReplace &&
      (!hasFailed || mcpTask.firstAttempt > attempt),
  );
  if (shared !== undefined) return shared;
  return {
    ...draft,
    kind: "request",
    // If the last attempt has failed, the new MCP task belongs to the next attempt, because a failed attempt is
    // never sent again.
    firstAttempt: attempt + (hasFailed ? 1 : 0),
    saveOptions: { fileName, mayReplace, replayed: taskId !== null && !hasFailed },
    cancelRequestedAtMs: null,
    endedAtMs: null,
    end: null,
  };
}

/** Ends an MCP task. Leaves an MCP task that has ended unchanged. */
export const endMcpTask = (mcpTask: McpTask, end: McpTaskEnd, endedAtMs: number): McpTask =>
  mcpTask.endedAtMs === null ? { ...mcpTask, end, endedAtMs } : mcpTask;

/**
 * Cancels an MCP task. If nothing was sent for its record, the MCP task ends at once. If something was sent, the
 * MCP task ends when the record's status is `waiting` again.
 */
export function cancelMcpTask(mcpTask: McpTask, target: McpTaskTarget | null, atMs: number): McpTask {
  if (!isMcpTaskWanted(mcpTask)) return mcpTask;
  const isUnsent = target === null || target.status === "waiting";
  const withCancellation = { ...mcpTask, cancelRequestedAtMs: atMs };
  return isUnsent ? endMcpTask(withCancellation, { kind: "cancelled" }, atMs) : withCancellation;
}

/** An attempt that a new call replaces, and the error that ends its MCP tasks. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly error: StoredError;
  readonly atMs: number;
}

/**
 * Returns the MCP tasks that end when their record goes back to `waiting`: those of the replaced attempt, and all
 * cancelled MCP tasks. Cancelled MCP tasks can end at this point, because a waiting record has no submission or task at
 * the service.
 *
 * @param failed the attempt that a new call replaces; `null` if there is none
 */
export function endMcpTasksOfRequeuedRecord(
  open: readonly McpTask[],
  failed: FailedAttempt | null,
): McpTask[] {
  return open.flatMap((mcpTask) => {
    if (failed !== null && mcpTask.firstAttempt <= failed.attempt) {
      return [endMcpTask(mcpTask, { kind: "error", error: failed.error }, failed.atMs)];
    }
    const { cancelRequestedAtMs } = mcpTask;
    return cancelRequestedAtMs === null
      ? []
      : [endMcpTask(mcpTask, { kind: "cancelled" }, cancelRequestedAtMs)];
  });
}

/** Tracks which calls and MCP tasks want a narration, and decides what a cancellation changes. */
import { endMcpTask, isMcpTaskWanted, type McpTask, type McpTaskDraft } from "../../ledger/rules/mcp-task.ts";
import { isProcessAliveHere, isProcessDead, type ProcessId } from "../../process-id.ts";
import type { NarrationMcpTaskEnd, NarrationState, NarrationTotals } from "./narration-state.ts";

const CANCELLED_PROBLEM = {
  partIndex: null,
  code: "cancelled",
  message: "It was cancelled: nothing more is created. What was accepted is saved.",
} as const;

/**
 * Returns the narration's open MCP task for the API key of `draft`. If none is open for this API key, returns a new MCP
 * task. All callers with this API key share the MCP task while the narration runs.
 */
export function reuseOrOpenNarrationMcpTask(openMcpTasks: readonly McpTask[], draft: McpTaskDraft): McpTask {
  const shared = openMcpTasks.find(
    (mcpTask) => isMcpTaskWanted(mcpTask) && mcpTask.apiKeyId === draft.apiKeyId,
  );
  if (shared !== undefined) return shared;
  const saveOptions = { fileName: null, mayReplace: false, replayed: false };
  return {
    ...draft,
    kind: "narration",
    firstAttempt: 1,
    saveOptions,
    cancelRequestedAtMs: null,
    endedAtMs: null,
    end: null,
  };
}

/**
 * Records that a call without an MCP task wants the narration.
 *
 * @param caller the call's process
 */
export const withCaller = (state: NarrationState, caller: ProcessId): NarrationState =>
  state.status === "running" && !state.callerProcesses.includes(caller)
    ? { ...state, callerProcesses: [...state.callerProcesses.filter(isAlive), caller] }
    : state;

/**
 * Removes ended processes from `callerProcesses`. Called when this process takes over a narration that no process
 * drives. Also removes processes on other machines, because this process cannot see whether they still run.
 */
export function withLocalLiveCallers(state: NarrationState, self: ProcessId): NarrationState {
  const callerProcesses = state.callerProcesses.filter(
    (caller) => caller === self || isProcessAliveHere(caller),
  );
  return callerProcesses.length === state.callerProcesses.length ? state : { ...state, callerProcesses };
}

/** Empties `callerProcesses` if the narration no longer runs. */
export const withoutCallers = (state: NarrationState): NarrationState =>
  state.status === "running" || state.callerProcesses.length === 0
    ? state
    : { ...state, callerProcesses: [] };

/** The time when an MCP task ends, and the totals of the narration at that time. Both are stored with the MCP task. */
export interface EndTotals {
  readonly atMs: number;
  readonly totals: NarrationTotals;
}

/** Ends the MCP tasks of a narration that no longer runs. */
export function endMcpTasksOfNarration(
  openMcpTasks: readonly McpTask[],
  { status, problems, files }: NarrationState,
  { atMs, totals }: EndTotals,
): McpTask[] {
  if (status === "running") return [];
  const end: NarrationMcpTaskEnd = { kind: "ended", status, problems, files, totals };
  return openMcpTasks.map((mcpTask) => endMcpTask(mcpTask, end, atMs));
}

/** Cancels an MCP task. The narration stops unless another call or MCP task still wants it. */
export function withCancelledMcpTask(
  state: NarrationState,
  openMcpTasks: readonly McpTask[],
  cancelledMcpTaskId: string,
  { atMs, totals }: EndTotals,
): { readonly state: NarrationState; readonly mcpTask: McpTask | null } {
  const mcpTask = openMcpTasks.find((other) => other.mcpTaskId === cancelledMcpTaskId);
  if (mcpTask === undefined) return { state, mcpTask: null };
  const isLeftRunning = state.callerProcesses.some(isAlive) || openMcpTasks.length > 1;
  const end: NarrationMcpTaskEnd = { kind: "cancelled", totals, isLeftRunning };
  return { state: isLeftRunning ? state : stopIfRunning(state), mcpTask: endMcpTask(mcpTask, end, atMs) };
}

/**
 * Cancels the calls without an MCP task that run in one process. The narration stops unless an MCP task or another
 * process still wants it.
 */
export function withCancelledCallsOf(
  state: NarrationState,
  openMcpTasks: readonly McpTask[],
  caller: ProcessId,
): NarrationState {
  const callerProcesses = state.callerProcesses.filter((other) => other !== caller && isAlive(other));
  return openMcpTasks.length === 0 && callerProcesses.length === 0
    ? stopIfRunning(state)
    : { ...state, callerProcesses };
}

const isAlive = (caller: ProcessId): boolean => !isProcessDead(caller);

const stopIfRunning = (state: NarrationState): NarrationState =>
  state.status === "running" ? { ...state, status: "stopped", problems: [CANCELLED_PROBLEM] } : state;

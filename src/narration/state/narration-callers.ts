/** Tracks which calls and call handles want a narration, and decides what a cancellation changes. Pure. */
import {
  type CallHandle,
  type CallHandleDraft,
  endCallHandle,
  isCallHandleWanted,
} from "../../ledger/rules/call-handle.ts";
import { isProcessDead, isProcessHere, type ProcessId } from "../../process-id.ts";
import type { NarrationCallHandleEnd, NarrationState, NarrationTotals } from "./narration-state.ts";

const CANCELLED = {
  partIndex: null,
  code: "cancelled",
  message: "It was cancelled: nothing more is created. What was accepted is saved.",
} as const;

/**
 * Returns the open call handle of the draft's API key. All callers with that key share this call handle while the
 * narration runs. If the key has no open call handle, returns a new one.
 */
export function reuseOrCreateCallHandle(open: readonly CallHandle[], draft: CallHandleDraft): CallHandle {
  const shared = open.find((handle) => isCallHandleWanted(handle) && handle.apiKeyId === draft.apiKeyId);
  if (shared !== undefined) return shared;
  const saveOptions = { fileName: null, mayReplace: false, replayed: false };
  return {
    ...draft,
    kind: "narration",
    attempt: 1,
    saveOptions,
    cancelRequestedAtMs: null,
    endedAtMs: null,
    end: null,
  };
}

/** Records that a call without a call handle wants the narration. @param caller the call's process */
export const withCaller = (state: NarrationState, caller: ProcessId): NarrationState =>
  state.status === "running" && !state.callerProcesses.includes(caller)
    ? { ...state, callerProcesses: [...state.callerProcesses.filter(isAlive), caller] }
    : state;

/**
 * Removes the requests of ended processes, when this process takes over a narration that no process drives. Removes the
 * requests of processes on other machines, too, because this process cannot see whether they still run.
 */
export function withoutEndedProcesses(state: NarrationState, self: ProcessId): NarrationState {
  const callerProcesses = state.callerProcesses.filter((caller) => caller === self || isProcessHere(caller));
  return callerProcesses.length === state.callerProcesses.length ? state : { ...state, callerProcesses };
}

/** Removes all requests for a narration that no longer runs. */
export const withoutCallers = (state: NarrationState): NarrationState =>
  state.status === "running" || state.callerProcesses.length === 0
    ? state
    : { ...state, callerProcesses: [] };

/** The status of the narration when a call handle ends. It is the final answer for that call handle. */
export interface RunEnd {
  readonly atMs: number;
  readonly totals: NarrationTotals;
}

/** Ends the call handles of a narration that no longer runs. */
export function endByState(
  open: readonly CallHandle[],
  { status, problems, files }: NarrationState,
  { atMs, totals }: RunEnd,
): CallHandle[] {
  if (status === "running") return [];
  const end: NarrationCallHandleEnd = { kind: "ended", status, problems, files, totals };
  return open.map((handle) => endCallHandle(handle, end, atMs));
}

/** Cancels a call handle. The narration stops unless another call or call handle still wants it. */
export function withCancelledHandle(
  state: NarrationState,
  open: readonly CallHandle[],
  cancelledMcpTaskId: string,
  { atMs, totals }: RunEnd,
): { readonly state: NarrationState; readonly handle: CallHandle | null } {
  const handle = open.find((other) => other.handleId === cancelledMcpTaskId);
  if (handle === undefined) return { state, handle: null };
  const isLeftRunning = state.callerProcesses.some(isAlive) || open.length > 1;
  const end: NarrationCallHandleEnd = { kind: "cancelled", totals, isLeftRunning };
  return { state: isLeftRunning ? state : stopIfRunning(state), handle: endCallHandle(handle, end, atMs) };
}

/**
 * Cancels the calls without a call handle that run in one process. The narration stops unless a call handle or another
 * process still wants it.
 */
export function withCancelledCall(
  state: NarrationState,
  open: readonly CallHandle[],
  caller: ProcessId,
): NarrationState {
  const callerProcesses = state.callerProcesses.filter((other) => other !== caller && isAlive(other));
  return open.length === 0 && callerProcesses.length === 0
    ? stopIfRunning(state)
    : { ...state, callerProcesses };
}

const isAlive = (caller: ProcessId): boolean => !isProcessDead(caller);

const stopIfRunning = (state: NarrationState): NarrationState =>
  state.status === "running" ? { ...state, status: "stopped", problems: [CANCELLED] } : state;

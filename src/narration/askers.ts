/** Tracks the calls and handles that want a narration, and what a cancellation changes. Pure. */

import { endedHandle, type Handle, type HandleDraft, isWanted } from "../ledger/rules/handles.ts";
import { isProcessGone, isProcessHere, type ProcessId } from "../process-id.ts";
import type { NarrationFigures, NarrationHandleEnd, NarrationState } from "./narration-state.ts";

const CANCELLED = {
  part: null,
  code: "cancelled",
  message: "It was cancelled: nothing more is created. What was accepted is saved.",
} as const;

/** Returns the open handle of the key, because all callers share it while it runs; otherwise a new one. */
export function openNarrationHandle(open: readonly Handle[], draft: HandleDraft): Handle {
  const shared = open.find((handle) => isWanted(handle) && handle.keyId === draft.keyId);
  if (shared !== undefined) return shared;
  const wish = { fileName: null, replace: false, replayed: false };
  return {
    ...draft,
    kind: "narration",
    attempt: 1,
    wish,
    cancelAskedAtMs: null,
    endedAtMs: null,
    end: null,
  };
}

/** Records that a call without a handle wants the narration. @param asker the call's process */
export const askedPlainly = (state: NarrationState, asker: ProcessId): NarrationState =>
  state.status === "running" && !state.plainAskers.includes(asker)
    ? { ...state, plainAskers: [...state.plainAskers.filter(isAlive), asker] }
    : state;

/**
 * Removes the requests of ended processes, before this process continues a narration that nobody drives. Nothing shows
 * whether a process of another machine still runs, so its requests end, too.
 */
export function leftByOthers(state: NarrationState, self: ProcessId): NarrationState {
  const plainAskers = state.plainAskers.filter((asker) => asker === self || isProcessHere(asker));
  return plainAskers.length === state.plainAskers.length ? state : { ...state, plainAskers };
}

/** Removes all requests for a narration that no longer runs. */
export const unasked = (state: NarrationState): NarrationState =>
  state.status === "running" || state.plainAskers.length === 0 ? state : { ...state, plainAskers: [] };

/** The status of the narration when a handle ends. It is the final answer for that handle. */
export interface MomentOfEnd {
  readonly atMs: number;
  readonly figures: NarrationFigures;
}

/** Ends the handles of a narration that no longer runs. */
export function endedByState(
  open: readonly Handle[],
  { status, problems, files }: NarrationState,
  { atMs, figures }: MomentOfEnd,
): Handle[] {
  if (status === "running") return [];
  const end: NarrationHandleEnd = { kind: "ended", status, problems, files, figures };
  return open.map((handle) => endedHandle(handle, end, atMs));
}

/** Cancels a handle. The narration stops unless another call or handle still wants it. */
export function handleCancelled(
  state: NarrationState,
  open: readonly Handle[],
  cancelled: string,
  { atMs, figures }: MomentOfEnd,
): { readonly state: NarrationState; readonly handle: Handle | null } {
  const handle = open.find((other) => other.handle === cancelled);
  if (handle === undefined) return { state, handle: null };
  const isLeftRunning = state.plainAskers.some(isAlive) || open.length > 1;
  const end: NarrationHandleEnd = { kind: "cancelled", figures, isLeftRunning };
  return { state: isLeftRunning ? state : stopped(state), handle: endedHandle(handle, end, atMs) };
}

/** Cancels a process's calls without a handle. The narration stops unless a handle or another process still wants it. */
export function callCancelled(
  state: NarrationState,
  open: readonly Handle[],
  asker: ProcessId,
): NarrationState {
  const plainAskers = state.plainAskers.filter((other) => other !== asker && isAlive(other));
  return open.length === 0 && plainAskers.length === 0 ? stopped(state) : { ...state, plainAskers };
}

const isAlive = (asker: ProcessId): boolean => !isProcessGone(asker);

const stopped = (state: NarrationState): NarrationState =>
  state.status === "running" ? { ...state, status: "stopped", problems: [CANCELLED] } : state;

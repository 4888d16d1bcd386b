/** Narrations that are asked about by handles: looked at, gone on with and cancelled, in any process. */
import type { Clock } from "../clock.ts";
import {
  type HandleOperations,
  type HandleStatus,
  handleStatus,
  type WorkingStatus,
} from "../generation/handles/handle-status.ts";
import type { LedgerStore } from "../ledger/ledger-store.ts";
import type { Handle } from "../ledger/rules/handles.ts";
import type { ProcessId } from "../process-id.ts";
import { handleCancelled, leftByOthers } from "./askers.ts";
import type { ComputeFigures, NarrationRepository } from "./narration-repository.ts";
import { type NarrationState, narrationHandleEndSchema } from "./narration-state.ts";
import { type NarrationView, viewWith } from "./narration-view.ts";
import { cancelledWords, progressOf } from "./narration-words.ts";

export interface NarrationHandlesDeps {
  readonly book: NarrationRepository;
  readonly computeFigures: ComputeFigures;
  readonly clock: Pick<Clock, "wallMs">;
  readonly store: Pick<LedgerStore, "handle">;
  readonly processId: ProcessId;
  /** Whether this process is at work on it. */
  readonly isRunningHere: (narrationId: string) => boolean;
  /** Goes on with it, within its limit. */
  readonly start: (narrationId: string) => void;
  /** Hands what has been decided to this process's work. */
  readonly refresh: (narrationId: string, state: NarrationState) => void;
}

export class NarrationHandles implements HandleOperations<NarrationView> {
  readonly #deps: NarrationHandlesDeps;

  constructor(deps: NarrationHandlesDeps) {
    this.#deps = deps;
  }

  async getStatus(asked: Handle): Promise<HandleStatus<NarrationView>> {
    const { book, store, processId: self, isRunningHere, start } = this.#deps;
    const narrationId = asked.targetId;
    const known = await book.get(narrationId);
    const { state, leaseOwner } = known;
    // Where it has ended since the handle was read, the handle has ended with it.
    const handle = state.status === "running" ? asked : ((await store.handle(asked.handle)) ?? asked);
    if (handle.end === null) {
      if (state.status === "running" && leaseOwner === null && !isRunningHere(narrationId)) {
        // Its process is gone: what was allowed is still allowed.
        await book.change(narrationId, (before) => leftByOthers(before, self));
        start(narrationId);
      }
      return await this.working(handle, state);
    }
    const end = narrationHandleEndSchema.parse(handle.end);
    if (end.kind === "cancelled")
      return handleStatus(handle, { kind: "cancelled", message: cancelledWords(end) });
    const { status, problems, files, figures } = end;
    const view = viewWith({ ...known, state: { ...state, status, problems, files } }, figures);
    return handleStatus(handle, { kind: "done", view });
  }

  async cancel({ handle, targetId }: Handle): Promise<void> {
    const { book, clock, computeFigures, refresh } = this.#deps;
    const figures = await computeFigures(await book.get(targetId));
    const { state } = await book.changeHandle(targetId, (before, open) =>
      handleCancelled(before, open, handle, { figures, atMs: clock.wallMs() }),
    );
    refresh(targetId, state);
  }

  /** The answer to a call that has just opened this handle, or shares it. */
  async working(handle: Handle, state: NarrationState): Promise<WorkingStatus> {
    const { book, clock } = this.#deps;
    const { chargedCredits } = await book.bill(handle.targetId);
    const message = progressOf(state, chargedCredits, clock.wallMs());
    return handleStatus(handle, { kind: "working", message }, state.begunAtMs ?? 0);
  }
}

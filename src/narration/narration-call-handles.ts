/**
 * Reports the status of narrations' call handles, continues their narrations, and cancels call handles. Any process can
 * do so.
 */
import type { Clock } from "../clock.ts";
import {
  type CallHandleOperations,
  type CallHandleStatus,
  callHandleStatus,
  type WorkingStatus,
} from "../generation/call-handles/call-handle-status.ts";
import type { CallHandle } from "../ledger/rules/call-handle.ts";
import type { CallHandleStore } from "../ledger/store/call-handle-store.ts";
import type { ProcessId } from "../process-id.ts";
import type { NarrationDrivers } from "./driving/narration-drivers.ts";
import { withCancelledHandle, withoutEndedProcesses } from "./state/narration-callers.ts";
import type { ComputeTotals, NarrationRepository } from "./state/narration-repository.ts";
import { type NarrationState, narrationCallHandleEndSchema } from "./state/narration-state.ts";
import { describeCancelled, describeProgress } from "./views/narration-messages.ts";
import { assembleNarrationView, type NarrationView } from "./views/narration-view.ts";

export interface NarrationCallHandlesDeps {
  readonly repository: NarrationRepository;
  readonly computeTotals: ComputeTotals;
  readonly clock: Pick<Clock, "wallMs">;
  readonly callHandles: Pick<CallHandleStore, "find">;
  readonly processId: ProcessId;
  readonly drivers: Pick<NarrationDrivers, "has" | "start" | "refresh">;
}

export class NarrationCallHandles implements CallHandleOperations<NarrationView> {
  readonly #deps: NarrationCallHandlesDeps;

  constructor(deps: NarrationCallHandlesDeps) {
    this.#deps = deps;
  }

  async resumeAndGetStatus(knownHandle: CallHandle): Promise<CallHandleStatus<NarrationView>> {
    const { repository, callHandles, processId, drivers } = this.#deps;
    const narrationId = knownHandle.targetId;
    const narration = await repository.get(narrationId);
    const { state, leaseOwner } = narration;
    // If the narration has ended since the call handle was read, the call handle has ended too.
    const handle =
      state.status === "running"
        ? knownHandle
        : ((await callHandles.find(knownHandle.handleId)) ?? knownHandle);
    if (handle.end === null) {
      if (state.status === "running" && leaseOwner === null && !drivers.has(narrationId)) {
        // The process that drove the narration has ended. Continue the narration in this process. This needs no new
        // consent, because the agreed `max_credits` still applies.
        await repository.change(narrationId, (before) => withoutEndedProcesses(before, processId));
        drivers.start(narrationId);
      }
      return await this.describeWorking(handle, state);
    }
    const end = narrationCallHandleEndSchema.parse(handle.end);
    if (end.kind === "cancelled")
      return callHandleStatus(handle, { kind: "cancelled", message: describeCancelled(end) });
    const { status, problems, files, totals } = end;
    const view = assembleNarrationView(
      { ...narration, state: { ...state, status, problems, files } },
      totals,
    );
    return callHandleStatus(handle, { kind: "done", view });
  }

  async cancel({ handleId, targetId }: CallHandle): Promise<void> {
    const { repository, clock, computeTotals, drivers } = this.#deps;
    const totals = await computeTotals(await repository.get(targetId));
    const { state } = await repository.changeWithHandle(targetId, (before, open) =>
      withCancelledHandle(before, open, handleId, { totals, atMs: clock.wallMs() }),
    );
    drivers.refresh(targetId, state);
  }

  /** Returns the status of a call handle whose narration still runs. */
  async describeWorking(handle: CallHandle, state: NarrationState): Promise<WorkingStatus> {
    const { repository, clock } = this.#deps;
    const { chargedCredits } = await repository.getBill(handle.targetId);
    const message = describeProgress(state, chargedCredits, clock.wallMs());
    return callHandleStatus(handle, { kind: "working", message }, state.startedAtMs ?? 0);
  }
}

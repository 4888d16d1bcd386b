/**
 * Reports the status of the MCP tasks of narrations, and cancels these MCP tasks. If the process that drove a narration
 * has ended, continues the narration in this process.
 */
import type { Clock } from "../clock.ts";
import type { McpTask } from "../ledger/rules/mcp-task.ts";
import type { McpTaskStore } from "../ledger/store/mcp-task-store.ts";
import type { ProcessId } from "../process-id.ts";
import {
  buildMcpTaskStatus,
  type McpTaskOperations,
  type McpTaskStatus,
  type WorkingStatus,
} from "../requests/mcp-tasks/mcp-task-status.ts";
import type { DriverRegistry } from "./driving/driver-registry.ts";
import { withCancelledMcpTask, withLocalLiveCallers } from "./state/narration-callers.ts";
import type { ComputeTotals, NarrationRepository } from "./state/narration-repository.ts";
import { type NarrationState, narrationMcpTaskEndSchema } from "./state/narration-state.ts";
import { describeCancelled, describeProgress } from "./views/narration-messages.ts";
import { assembleNarrationView, type NarrationView } from "./views/narration-view.ts";

export interface NarrationMcpTasksDeps {
  readonly repository: NarrationRepository;
  readonly computeTotals: ComputeTotals;
  readonly clock: Pick<Clock, "wallMs">;
  readonly mcpTasks: Pick<McpTaskStore, "find">;
  readonly processId: ProcessId;
  readonly drivers: Pick<DriverRegistry, "has" | "start" | "refresh">;
}

/**
 * Reports and cancels the MCP tasks of narrations, whichever process opened them. Reporting the status continues the
 * narration in this process if the process that drove the narration has ended.
 */
export class NarrationMcpTasks implements McpTaskOperations<NarrationView> {
  readonly #deps: NarrationMcpTasksDeps;

  constructor(deps: NarrationMcpTasksDeps) {
    this.#deps = deps;
  }

  async resumeAndGetStatus(knownMcpTask: McpTask): Promise<McpTaskStatus<NarrationView>> {
    const { repository, mcpTasks, processId, drivers } = this.#deps;
    const narrationId = knownMcpTask.targetId;
    const narration = await repository.get(narrationId);
    const { state, leaseOwner } = narration;
    // If the narration does not run, read the MCP task again, because it may have ended since it was first read.
    const mcpTask =
      state.status === "running"
        ? knownMcpTask
        : ((await mcpTasks.find(knownMcpTask.mcpTaskId)) ?? knownMcpTask);
    if (mcpTask.end === null) {
      if (state.status === "running" && leaseOwner === null && !drivers.has(narrationId)) {
        // The process that drove the narration has ended. Continue the narration in this process. The user need not
        // agree again, because the agreed `max_credits` still applies.
        await repository.change(narrationId, (before) => withLocalLiveCallers(before, processId));
        drivers.start(narrationId);
      }
      return await this.buildWorkingStatus(mcpTask, state);
    }
    const end = narrationMcpTaskEndSchema.parse(mcpTask.end);
    if (end.kind === "cancelled")
      return buildMcpTaskStatus(mcpTask, { kind: "cancelled", message: describeCancelled(end) });
    const { status, problems, files, totals } = end;
    const view = assembleNarrationView(
      { ...narration, state: { ...state, status, problems, files } },
      totals,
    );
    return buildMcpTaskStatus(mcpTask, { kind: "done", view });
  }

  async cancel({ mcpTaskId, targetId }: McpTask): Promise<void> {
    const { repository, clock, computeTotals, drivers } = this.#deps;
    const totals = await computeTotals(await repository.get(targetId));
    const { state } = await repository.changeWithMcpTask(targetId, (before, open) =>
      withCancelledMcpTask(before, open, mcpTaskId, { totals, atMs: clock.wallMs() }),
    );
    drivers.refresh(targetId, state);
  }

  /** Returns the status of an MCP task whose narration still runs. */
  async buildWorkingStatus(mcpTask: McpTask, state: NarrationState): Promise<WorkingStatus> {
    const { repository, clock } = this.#deps;
    const { chargedCredits } = await repository.getBill(mcpTask.targetId);
    const message = describeProgress(state, chargedCredits, clock.wallMs());
    return buildMcpTaskStatus(mcpTask, { kind: "working", message }, state.startedAtMs ?? 0);
  }
}

/**
 * Inserts, reads and changes narrations in the ledger. A change is computed from the stored state. The change is
 * written only if the stored state has not changed meanwhile.
 */
import { AudioError } from "../../errors.ts";
import type { McpTask } from "../../ledger/rules/mcp-task.ts";
import type { NarrationStore, StoredNarration } from "../../ledger/store/narration-store.ts";
import type { ProcessId } from "../../process-id.ts";
import { isProcessDead } from "../../process-id.ts";
import { type NarrationBill, sumNarrationBill } from "./narration-bill.ts";
import { endMcpTasksOfNarration, withoutCallers } from "./narration-callers.ts";
import {
  buildNewState,
  type NarrationFile,
  type NarrationState,
  type NarrationTotals,
  narrationStateSchema,
  parseStored,
  type StoredPlan,
  storedPlanSchema,
} from "./narration-state.ts";

/** Maximum number of cached plans. Each plan may be as long as a book. */
const MAX_PLANS = 4;

/**
 * Number of consecutive write conflicts after which a change fails. The number is so high that concurrent changes alone
 * do not reach it.
 */
const MAX_CONFLICTS = 20;

export interface NarrationEntry {
  readonly narrationId: string;
  readonly state: NarrationState;
  /** The living process that drives the narration; `null` if there is none. */
  readonly leaseOwner: ProcessId | null;
}

export interface NarrationWithPlan extends NarrationEntry {
  readonly plan: StoredPlan;
}

export type ComputeTotals = (known: NarrationWithPlan) => Promise<NarrationTotals>;

const refuseToCompute: ComputeTotals = () => Promise.reject(new Error("this repository is read-only"));

/**
 * Reads and changes the stored narrations of the service. Computes every change from the newest stored state, so that
 * no concurrent change of another process is lost. Methods throw AudioError `not_found` for an unknown narration, and
 * `store_unavailable` for a damaged one or if the store cannot be used.
 */
export class NarrationRepository {
  readonly #store: NarrationStore;
  readonly #wallMs: () => number;
  readonly #computeTotals: ComputeTotals;
  /** A cache of plans, which never change and may be long. */
  readonly #plans = new Map<string, StoredPlan>();

  /** @param computeTotals computes the totals that are stored when an MCP task ends; absent for read-only use */
  constructor(store: NarrationStore, wallMs: () => number, computeTotals: ComputeTotals = refuseToCompute) {
    this.#store = store;
    this.#wallMs = wallMs;
    this.#computeTotals = computeTotals;
  }

  /** Stores a new narration with its plan. If the narration is known, changes nothing. */
  async insertIfAbsent(
    narrationId: string,
    plan: StoredPlan,
    initialState: Pick<NarrationState, "retakes" | "fileName" | "createdAtMs">,
  ): Promise<void> {
    await this.#store.insert({
      narrationId,
      plan: JSON.stringify(plan),
      state: JSON.stringify({ ...buildNewState(plan, initialState.createdAtMs), ...initialState }),
      createdAtMs: initialState.createdAtMs,
    });
  }

  async exists(narrationId: string): Promise<boolean> {
    return (await this.#store.read(narrationId)) !== undefined;
  }

  /**
   * Reads a narration with its plan.
   *
   * @throws AudioError `not_found`, `store_unavailable`
   */
  async get(narrationId: string): Promise<NarrationWithPlan> {
    const entry = await this.getWithoutPlan(narrationId);
    return { ...entry, plan: await this.#getPlan(narrationId) };
  }

  /** Reads the lease owner and the state, without the plan. */
  async getWithoutPlan(narrationId: string): Promise<NarrationEntry> {
    const stored = await this.#store.read(narrationId);
    if (stored === undefined) throw unknownNarrationError(narrationId);
    return toEntry(stored);
  }

  /**
   * Finds a saved file by its number. The first file has the number 1.
   *
   * @throws AudioError `not_found`, `store_unavailable`
   */
  async findFile(narrationId: string, number: number): Promise<NarrationFile> {
    const file = (await this.getWithoutPlan(narrationId)).state.files[number - 1];
    if (file !== undefined) return file;
    throw new AudioError("not_found", "The narration has no such file.");
  }

  /**
   * Changes the state. If another process has changed the stored state meanwhile, computes the change again.
   *
   * @param change computes the new state from the stored state and the MCP tasks that have not ended; returns the
   *   same object if nothing changes
   * @returns the stored state
   */
  async change(
    narrationId: string,
    change: (state: NarrationState, openMcpTasks: readonly McpTask[]) => NarrationState,
  ): Promise<NarrationState> {
    const changed = await this.changeWithMcpTask(narrationId, (before, openMcpTasks) => ({
      state: change(before, openMcpTasks),
      mcpTask: null,
    }));
    return changed.state;
  }

  /** Changes the state as {@link change} does, and opens or ends an MCP task in the same transaction. */
  async changeWithMcpTask<Changed extends McpTask | null>(
    narrationId: string,
    change: (
      state: NarrationState,
      openMcpTasks: readonly McpTask[],
    ) => { state: NarrationState; mcpTask: Changed },
  ): Promise<{ readonly state: NarrationState; readonly mcpTask: Changed }> {
    for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
      const stored = await this.#store.read(narrationId);
      if (stored === undefined) throw unknownNarrationError(narrationId);
      const before = parseState(stored);
      const changed = change(before, stored.mcpTasks);
      const { mcpTask } = changed;
      const state = withoutCallers(changed.state);
      const otherMcpTasks = stored.mcpTasks.filter((open) => open.mcpTaskId !== mcpTask?.mcpTaskId);
      const ended = await this.#buildEndedMcpTasks(narrationId, state, otherMcpTasks);
      const mcpTasks = mcpTask === null ? ended : [mcpTask, ...ended];
      if (state === before && mcpTasks.length === 0) return { state, mcpTask };
      const { revision } = stored;
      if (await this.#store.write(narrationId, revision, JSON.stringify(state), mcpTasks)) {
        return { state, mcpTask };
      }
    }
    throw new AudioError("store_unavailable", "The ledger stayed busy with the same narration.", {
      retryable: true,
    });
  }

  async #buildEndedMcpTasks(
    narrationId: string,
    state: NarrationState,
    openMcpTasks: readonly McpTask[],
  ): Promise<McpTask[]> {
    if (state.status === "running" || openMcpTasks.length === 0) return [];
    const narration = { narrationId, plan: await this.#getPlan(narrationId), state, leaseOwner: null };
    return endMcpTasksOfNarration(openMcpTasks, state, {
      totals: await this.#computeTotals(narration),
      atMs: this.#wallMs(),
    });
  }

  async getBill(narrationId: string): Promise<NarrationBill> {
    return sumNarrationBill(await this.#store.getBill(narrationId));
  }

  /**
   * Acquires or renews the lease.
   *
   * @returns whether this process has the lease now
   */
  async acquireLease(narrationId: string, processId: ProcessId, leaseTtlMs: number): Promise<boolean> {
    const current = await this.#store.acquireLease({ narrationId, leaseTtlMs });
    if (current === processId) return true;
    if (current === null || !isProcessDead(current)) return false;
    return (await this.#store.acquireLease({ narrationId, leaseTtlMs, deadOwner: current })) === processId;
  }

  async releaseLease(narrationId: string): Promise<void> {
    await this.#store.releaseLease(narrationId);
  }

  /** Lists narrations, newest first. Skips unreadable narrations, because they must not hide the others. */
  async listNewest(limit: number): Promise<NarrationEntry[]> {
    const entries: NarrationEntry[] = [];
    for (const stored of await this.#store.listNewest(limit)) {
      try {
        entries.push(toEntry(stored));
      } catch (error) {
        if (!(error instanceof AudioError)) throw error;
      }
    }
    return entries;
  }

  async #getPlan(narrationId: string): Promise<StoredPlan> {
    const cachedPlan = this.#plans.get(narrationId);
    if (cachedPlan !== undefined) return cachedPlan;
    const text = await this.#store.getPlan(narrationId);
    if (text === undefined) throw unknownNarrationError(narrationId);
    const plan = parseStored(storedPlanSchema, text, narrationId);
    const [oldest] = this.#plans.keys();
    if (this.#plans.size >= MAX_PLANS && oldest !== undefined) this.#plans.delete(oldest);
    this.#plans.set(narrationId, plan);
    return plan;
  }
}

const parseState = ({ narrationId, state }: StoredNarration): NarrationState =>
  parseStored(narrationStateSchema, state, narrationId);

const findLivingLeaseOwner = ({ leaseOwner }: StoredNarration): ProcessId | null =>
  leaseOwner === null || isProcessDead(leaseOwner) ? null : leaseOwner;

const toEntry = (stored: StoredNarration): NarrationEntry => ({
  narrationId: stored.narrationId,
  state: parseState(stored),
  leaseOwner: findLivingLeaseOwner(stored),
});

function unknownNarrationError(narrationId: string): AudioError {
  return new AudioError("not_found", `No narration of this service is called ${narrationId}.`, {
    remedy:
      "list_tasks shows the narrations of this ledger. Called with the same text and settings, narrate finds it too, and pays for nothing twice.",
  });
}

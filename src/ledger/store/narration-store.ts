/**
 * Stores narrations. Each has a plan that never changes, a small state that changes, and the lease of the process that
 * drives the narration.
 */
import type Keyv from "keyv";
import { z } from "zod";
import type { ProcessId } from "../../process-id.ts";
import { type BillLine, selectLinePerRequest } from "../rules/bill.ts";
import { acquireLease, findLeaseOwner } from "../rules/lease.ts";
import type { McpTask } from "../rules/mcp-task.ts";
import { buildSaveMachineKeyStatement, type LedgerScope } from "./ledger-scope.ts";
import {
  buildSaveMcpTaskStatement,
  buildSelectOpenMcpTasksStatement,
  parseMcpTaskRows,
} from "./mcp-task-rows.ts";
import {
  buildSaveNarrationLeaseStatement,
  buildSelectBillStatement,
  buildSelectNarrationStatement,
  buildSelectNewestNarrationsStatement,
  type NarrationRow,
  parseBillLines,
  parseNarrationRows,
  toNarrationRow,
} from "./narration-rows.ts";
import { type SqlEngine, type Statement, sql } from "./sql-engine.ts";

/** Minimum number of rows that a list loads in addition to those that are requested. */
const EXTRA_ROWS = 20;

export interface StoredNarration {
  readonly narrationId: string;
  /** Grows with every write of the state. */
  readonly revision: number;
  readonly state: string;
  /** The process that drives the narration now; `null` if there is none. */
  readonly leaseOwner: ProcessId | null;
}

export interface NarrationWithMcpTasks extends StoredNarration {
  /** The narration's MCP tasks that have not ended. */
  readonly mcpTasks: readonly McpTask[];
}

export interface NewNarration {
  readonly narrationId: string;
  readonly plan: string;
  readonly state: string;
  /** Wall-clock time. */
  readonly createdAtMs: number;
}

export interface NarrationLeaseRequest {
  readonly narrationId: string;
  readonly leaseTtlMs: number;
  /** A lease owner that is known to be dead. Its lease is taken over at once. */
  readonly deadOwner?: ProcessId | undefined;
}

export interface NarrationStoreOptions {
  readonly engine: SqlEngine;
  readonly documents: Keyv<unknown>;
  readonly scope: LedgerScope;
  readonly processId: ProcessId;
}

const planName = (apiKeyId: string, narrationId: string): string => `plan:${apiKeyId}/${narrationId}`;

/** Stores narrations without the progress of their parts, which is in the parts' own records. */
export class NarrationStore {
  readonly #options: NarrationStoreOptions;

  constructor(options: NarrationStoreOptions) {
    this.#options = options;
  }

  /** Stores a new narration. Does nothing if a narration with this id exists. */
  async insert({ narrationId, plan, state, createdAtMs }: NewNarration): Promise<void> {
    const { engine, documents, scope } = this.#options;
    if ((await this.#find(narrationId)) !== undefined) return;
    // Store the plan first, so that every visible narration has one.
    await documents.set(planName(scope.apiKeyId, narrationId), plan);
    const insert = sql(
      `INSERT INTO agm_narrations (api_key_id, narration_id, base_url, created_at_ms, revision, state)
       VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`,
      scope.apiKeyId,
      narrationId,
      scope.baseUrl,
      createdAtMs,
      state,
    );
    await engine.transact({
      durability: "survives_process_kill",
      locks: [],
      loadStatements: [],
      decide: () => ({ result: undefined, saveStatements: [buildSaveMachineKeyStatement(scope), insert] }),
    });
  }

  async getPlan(narrationId: string): Promise<string | undefined> {
    const found = await this.#find(narrationId);
    if (found === undefined) return undefined;
    const plan = await this.#options.documents.get(planName(found.apiKeyId, narrationId));
    return plan === undefined ? undefined : z.string().parse(plan);
  }

  read(narrationId: string): Promise<NarrationWithMcpTasks | undefined> {
    return this.#transact(narrationId, "survives_process_kill", (row, nowSteadyMs, mcpTasks) => ({
      result: row === undefined ? undefined : { ...toStoredNarration(row, nowSteadyMs), mcpTasks },
    }));
  }

  /**
   * Writes the state if the stored revision is the expected one.
   *
   * @param mcpTasks MCP tasks that are opened or ended together with the state
   * @returns `false` if the stored revision differs, or if the narration was deleted
   */
  write(
    narrationId: string,
    expectedRevision: number,
    state: string,
    mcpTasks: readonly McpTask[] = [],
  ): Promise<boolean> {
    const mcpTaskStatements = mcpTasks.map(buildSaveMcpTaskStatement);
    // Require durability, because the state contains the limit of the narration's cost.
    return this.#transact(narrationId, "survives_power_cut", (row) => {
      const isRepeated = row?.revision === expectedRevision + 1 && row.state === state;
      // The same state is already stored, perhaps by another process. Save the MCP tasks nevertheless, because the
      // other process did not save those of this process.
      if (isRepeated) return { result: true, saveStatements: mcpTaskStatements };
      if (row?.revision !== expectedRevision) return { result: false };
      const update = sql(
        "UPDATE agm_narrations SET state = ?, revision = ? WHERE api_key_id = ? AND narration_id = ?",
        state,
        expectedRevision + 1,
        row.apiKeyId,
        narrationId,
      );
      return { result: true, saveStatements: [update, ...mcpTaskStatements] };
    });
  }

  /**
   * Takes or renews the lease.
   *
   * @returns the owner of the lease now; `null` if there is no such narration
   */
  acquireLease({ narrationId, leaseTtlMs, deadOwner }: NarrationLeaseRequest): Promise<ProcessId | null> {
    const { processId } = this.#options;
    return this.#transact(narrationId, "survives_process_kill", (row, nowSteadyMs) => {
      if (row === undefined) return { result: null };
      const acquired = acquireLease(
        row.lease,
        { owner: processId, ttlMs: leaseTtlMs, deadOwner },
        nowSteadyMs,
      );
      const isSame =
        acquired.renewedSteadyMs === row.lease?.renewedSteadyMs && acquired.owner === row.lease.owner;
      return {
        result: acquired.owner,
        saveStatements: isSame ? [] : [buildSaveNarrationLeaseStatement(row, acquired)],
      };
    });
  }

  releaseLease(narrationId: string): Promise<void> {
    const { processId } = this.#options;
    return this.#transact(narrationId, "survives_process_kill", (row) => ({
      result: undefined,
      saveStatements: row?.lease?.owner === processId ? [buildSaveNarrationLeaseStatement(row, null)] : [],
    }));
  }

  /**
   * Returns one line for each task that was sent for the narration, with the credits that are reserved or charged for
   * the task now.
   */
  async getBill(narrationId: string): Promise<BillLine[]> {
    const { engine, scope } = this.#options;
    const [rows = []] = await engine.read([buildSelectBillStatement(scope, narrationId)]);
    return selectLinePerRequest(parseBillLines(rows), scope.apiKeyId);
  }

  /** Lists narrations, newest first. */
  listNewest(limit: number): Promise<StoredNarration[]> {
    const { engine, scope } = this.#options;
    return engine.transact({
      durability: "survives_process_kill",
      locks: [],
      // Load more rows than requested, because some may be damaged or stored under several API keys.
      loadStatements: [buildSelectNewestNarrationsStatement(scope, 2 * limit + EXTRA_ROWS)],
      decide: ({ loaded: [rows = []], steadyMs }) => ({
        result: parseNarrationRows(rows, scope.apiKeyId)
          .slice(0, limit)
          .map((row) => toStoredNarration(row, steadyMs)),
        saveStatements: [],
      }),
    });
  }

  async #find(narrationId: string): Promise<NarrationRow | undefined> {
    const { engine, scope } = this.#options;
    const [rows = []] = await engine.read([buildSelectNarrationStatement(scope, narrationId, "")]);
    return rows[0] === undefined ? undefined : toNarrationRow(rows[0]);
  }

  #transact<T>(
    narrationId: string,
    durability: "survives_power_cut" | "survives_process_kill",
    decide: (
      row: NarrationRow | undefined,
      nowSteadyMs: number,
      mcpTasks: readonly McpTask[],
    ) => { readonly result: T; readonly saveStatements?: readonly Statement[] },
  ): Promise<T> {
    const { engine, scope } = this.#options;
    return engine.transact({
      durability,
      locks: [buildSelectNarrationStatement(scope, narrationId, engine.forUpdate)],
      loadStatements: [buildSelectOpenMcpTasksStatement(scope, narrationId)],
      decide: ({ locked: [rows = []], loaded: [mcpTasks], steadyMs }) => {
        const row = rows[0] === undefined ? undefined : toNarrationRow(rows[0]);
        const { result, saveStatements = [] } = decide(row, steadyMs, parseMcpTaskRows(mcpTasks));
        return { result, saveStatements };
      },
    });
  }
}

const toStoredNarration = (
  { narrationId, revision, state, lease }: NarrationRow,
  nowSteadyMs: number,
): StoredNarration => ({
  narrationId,
  revision,
  state,
  leaseOwner: findLeaseOwner(lease, nowSteadyMs),
});

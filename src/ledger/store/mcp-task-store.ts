/** Finds MCP tasks of requests and narrations. Opens, cancels and ends MCP tasks of requests only. */
import {
  cancelMcpTask,
  endMcpTask,
  isMcpTaskWanted,
  type McpTask,
  type McpTaskDraft,
  type McpTaskEnd,
  parseMcpTaskTarget,
  reuseOrOpenRequestMcpTask,
} from "../rules/mcp-task.ts";
import type { SaveOptions } from "../rules/save-options.ts";
import type { LedgerScope } from "./ledger-scope.ts";
import type { LedgerTransactions } from "./ledger-transactions.ts";
import {
  buildSaveMcpTaskStatement,
  buildSelectMcpTaskStatement,
  buildSelectOpenMcpTasksStatement,
  parseMcpTaskRows,
} from "./mcp-task-rows.ts";
import { buildSelectRecordStatements, parseLoadedRecord, RECORD_RESULT_COUNT } from "./record-rows.ts";
import type { Rows, SqlEngine, Statement } from "./sql-engine.ts";

export interface McpTaskStoreOptions {
  readonly engine: SqlEngine;
  readonly transactions: LedgerTransactions;
  readonly scope: LedgerScope;
}

/**
 * Finds the MCP tasks of requests and narrations. Opens, cancels and ends only those of requests, because the MCP tasks
 * of narrations change together with the narration's state (see `NarrationStore.write`).
 */
export class McpTaskStore {
  readonly #options: McpTaskStoreOptions;

  constructor(options: McpTaskStoreOptions) {
    this.#options = options;
  }

  /** Returns an MCP task of this API key; `null` if there is none. */
  async find(mcpTaskId: string): Promise<McpTask | null> {
    const { engine, scope } = this.#options;
    const [rows] = await engine.read([buildSelectMcpTaskStatement(scope, mcpTaskId)]);
    return parseMcpTaskRows(rows)[0] ?? null;
  }

  /** Whether the record has an open MCP task that was not cancelled. */
  async hasWanted(recordId: string): Promise<boolean> {
    const { engine, scope } = this.#options;
    const [rows] = await engine.read([buildSelectOpenMcpTasksStatement(scope, recordId)]);
    return parseMcpTaskRows(rows).some(isMcpTaskWanted);
  }

  /**
   * Opens an MCP task for a record, or returns an open one with the same options; `null` if there is no such record.
   */
  open(draft: McpTaskDraft, saveOptions: SaveOptions): Promise<McpTask | null> {
    const { transactions, scope } = this.#options;
    const { apiKeyId, targetId } = draft;
    return transactions.run<McpTask | null>({
      durability: "survives_power_cut",
      loadStatements: [
        ...buildSelectRecordStatements({ apiKeyId, recordId: targetId }),
        buildSelectOpenMcpTasksStatement(scope, targetId),
      ],
      decide: (rows) => {
        const target = parseMcpTaskTarget(parseLoadedRecord(rows).stored?.recordJson);
        if (target === null) return { result: null };
        const result = reuseOrOpenRequestMcpTask(
          parseMcpTaskRows(rows[RECORD_RESULT_COUNT]),
          target,
          draft,
          saveOptions,
        );
        return { result, saveStatements: [buildSaveMcpTaskStatement(result)] };
      },
    });
  }

  /**
   * Cancels an MCP task of a record, see {@link cancelMcpTask}.
   *
   * @returns the MCP task as stored now
   */
  cancel(mcpTask: McpTask, atMs: number): Promise<McpTask> {
    const { apiKeyId, targetId } = mcpTask;
    return this.#change(
      mcpTask,
      buildSelectRecordStatements({ apiKeyId, recordId: targetId }),
      (stored, rows) =>
        cancelMcpTask(stored, parseMcpTaskTarget(parseLoadedRecord(rows).stored?.recordJson), atMs),
    );
  }

  /**
   * Stores how an MCP task ended, unless an end is already stored.
   *
   * @returns the MCP task, with the end that was stored first
   */
  end(mcpTask: McpTask, end: McpTaskEnd, atMs: number): Promise<McpTask> {
    return this.#change(mcpTask, [], (stored) => endMcpTask(stored, end, atMs));
  }

  #change(
    knownMcpTask: McpTask,
    load: readonly Statement[],
    change: (stored: McpTask, rows: readonly Rows[]) => McpTask,
  ): Promise<McpTask> {
    const { transactions, scope } = this.#options;
    return transactions.run({
      durability: "survives_power_cut",
      loadStatements: [...load, buildSelectMcpTaskStatement(scope, knownMcpTask.mcpTaskId)],
      decide: (rows) => {
        const [stored] = parseMcpTaskRows(rows.at(-1));
        if (stored === undefined) return { result: knownMcpTask };
        const result = change(stored, rows);
        return { result, saveStatements: [buildSaveMcpTaskStatement(result)] };
      },
    });
  }
}

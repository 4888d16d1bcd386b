/** Finds call handles of requests and narrations. Opens, cancels and ends call handles of requests only. */
import {
  type CallHandle,
  type CallHandleDraft,
  type CallHandleEnd,
  cancelCallHandle,
  endCallHandle,
  findOrCreateCallHandle,
  isCallHandleWanted,
  parseCallHandleTarget,
  type SaveOptions,
} from "../rules/call-handle.ts";
import { parseHandleRows, saveHandle, selectHandle, selectOpenHandles } from "./call-handle-rows.ts";
import type { LedgerScope } from "./ledger-scope.ts";
import type { LedgerTransactions } from "./ledger-transactions.ts";
import { parseLoadedRow, ROW_RESULTS, selectRow } from "./record-rows.ts";
import type { Rows, SqlEngine, Statement } from "./sql-engine.ts";

export interface CallHandleStoreOptions {
  readonly engine: SqlEngine;
  readonly transactions: LedgerTransactions;
  readonly scope: LedgerScope;
}

export class CallHandleStore {
  readonly #options: CallHandleStoreOptions;

  constructor(options: CallHandleStoreOptions) {
    this.#options = options;
  }

  /** Returns a call handle of this API key; `null` if there is none. */
  async find(handleId: string): Promise<CallHandle | null> {
    const { engine, scope } = this.#options;
    const [rows] = await engine.read([selectHandle(scope, handleId)]);
    return parseHandleRows(rows)[0] ?? null;
  }

  /** Whether the record has an open call handle that was not cancelled. */
  async hasWanted(recordId: string): Promise<boolean> {
    const { engine, scope } = this.#options;
    const [rows] = await engine.read([selectOpenHandles(scope, recordId)]);
    return parseHandleRows(rows).some(isCallHandleWanted);
  }

  /**
   * Opens a call handle for a record, or returns an open one with the same options; `null` if there is no such record.
   */
  open(draft: CallHandleDraft, saveOptions: SaveOptions): Promise<CallHandle | null> {
    const { transactions, scope } = this.#options;
    const { apiKeyId, targetId } = draft;
    return transactions.run<CallHandle | null>({
      durability: "power_cut",
      load: [...selectRow({ apiKeyId, recordId: targetId }), selectOpenHandles(scope, targetId)],
      decide: (rows) => {
        const target = parseCallHandleTarget(parseLoadedRow(rows).stored?.recordJson);
        if (target === null) return { result: null };
        const result = findOrCreateCallHandle(parseHandleRows(rows[ROW_RESULTS]), target, draft, saveOptions);
        return { result, save: [saveHandle(result)] };
      },
    });
  }

  /**
   * Cancels a call handle of a record, see {@link cancelCallHandle}.
   *
   * @returns the call handle as stored now
   */
  cancel(handle: CallHandle, atMs: number): Promise<CallHandle> {
    const { apiKeyId, targetId } = handle;
    return this.#change(handle, selectRow({ apiKeyId, recordId: targetId }), (stored, rows) =>
      cancelCallHandle(stored, parseCallHandleTarget(parseLoadedRow(rows).stored?.recordJson), atMs),
    );
  }

  /**
   * Stores how a call handle ended, unless an end is already stored.
   *
   * @returns the call handle, with the end that was stored first
   */
  end(handle: CallHandle, end: CallHandleEnd, atMs: number): Promise<CallHandle> {
    return this.#change(handle, [], (stored) => endCallHandle(stored, end, atMs));
  }

  #change(
    knownHandle: CallHandle,
    load: readonly Statement[],
    change: (stored: CallHandle, rows: readonly Rows[]) => CallHandle,
  ): Promise<CallHandle> {
    const { transactions, scope } = this.#options;
    return transactions.run({
      durability: "power_cut",
      load: [...load, selectHandle(scope, knownHandle.handleId)],
      decide: (rows) => {
        const [stored] = parseHandleRows(rows.at(-1));
        if (stored === undefined) return { result: knownHandle };
        const result = change(stored, rows);
        return { result, save: [saveHandle(result)] };
      },
    });
  }
}

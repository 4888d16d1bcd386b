/** Runs the transactions of an API key, with locks in a fixed order and with the key's state. */
import { z } from "zod";
import { AudioError } from "../../errors.ts";
import { type ApiKeyState, parseApiKeyState } from "../rules/api-key-state.ts";
import type { Durability } from "../rules/durability.ts";
import { buildSaveMachineKeyStatement, type LedgerScope } from "./ledger-scope.ts";
import { buildSelectNarrationStatement, type NarrationRow, toNarrationRow } from "./narration-rows.ts";
import { type Rows, type SqlEngine, type Statement, sql } from "./sql-engine.ts";

export interface LedgerTransaction<T> {
  readonly durability: Durability;
  /**
   * Whether to lock the service's row, which all API keys of the service share. A transaction needs this lock to check
   * the budget, and to change the sums for a task that records of several API keys may name.
   */
  readonly mustLockService?: boolean;
  /** The narration to lock. Its row is locked after all others of the transaction. */
  readonly narrationId?: string | null;
  readonly loadStatements: readonly Statement[];
  decide(
    rows: readonly Rows[],
    state: ApiKeyState,
    nowSteadyMs: number,
    narration: NarrationRow | null,
  ): { readonly result: T; readonly saveStatements?: readonly Statement[]; readonly state?: ApiKeyState };
}

const stateRow = z.object({ state: z.string() });

/** The result if the row of the API key or the service is missing, because somebody emptied a table. */
const NOT_REGISTERED = Symbol("not registered");

/**
 * Runs transactions that lock the row of this API key, so that only one of them runs at a time, even in several
 * processes. Adds the rows of the service and the API key before the first transaction, and again if they are missing
 * later.
 */
export class LedgerTransactions {
  readonly #engine: SqlEngine;
  readonly #scope: LedgerScope;
  #isRegistered = false;

  constructor(engine: SqlEngine, scope: LedgerScope) {
    this.#engine = engine;
    this.#scope = scope;
  }

  /**
   * Runs a transaction. Takes its locks in a fixed order (service, API key, narration), so that transactions cannot
   * deadlock.
   */
  async run<T>(transaction: LedgerTransaction<T>): Promise<T> {
    if (!this.#isRegistered) await this.#register();
    const result = await this.#runOnce(transaction);
    if (result !== NOT_REGISTERED) return result;
    await this.#register();
    const secondResult = await this.#runOnce(transaction);
    if (secondResult !== NOT_REGISTERED) return secondResult;
    throw new AudioError("store_unavailable", "The ledger loses the row of this API key.", {
      retryable: true,
    });
  }

  #runOnce<T>({
    durability,
    mustLockService = false,
    narrationId = null,
    loadStatements,
    decide,
  }: LedgerTransaction<T>): Promise<T | typeof NOT_REGISTERED> {
    const { forUpdate } = this.#engine;
    const { baseUrl, apiKeyId } = this.#scope;
    const serviceLock = sql(`SELECT base_url FROM agm_services WHERE base_url = ?${forUpdate}`, baseUrl);
    const keyLock = sql(`SELECT state FROM agm_api_keys WHERE api_key_id = ?${forUpdate}`, apiKeyId);
    return this.#engine.transact<T | typeof NOT_REGISTERED>({
      durability,
      locks: [
        ...(mustLockService ? [serviceLock] : []),
        keyLock,
        ...(narrationId === null ? [] : [buildSelectNarrationStatement(this.#scope, narrationId, forUpdate)]),
      ],
      loadStatements,
      decide: ({ locked, loaded, steadyMs }) => {
        const row = locked[mustLockService ? 1 : 0]?.[0];
        const isServiceMissing = mustLockService && locked[0]?.length === 0;
        if (row === undefined || isServiceMissing) return { result: NOT_REGISTERED, saveStatements: [] };
        const narration = narrationId === null ? undefined : locked.at(-1)?.[0];
        const { state: text } = stateRow.parse(row);
        const before = parseApiKeyState(text, steadyMs);
        const {
          result,
          saveStatements = [],
          state = before,
        } = decide(loaded, before, steadyMs, narration === undefined ? null : toNarrationRow(narration));
        const after = JSON.stringify(state);
        if (after === text) return { result, saveStatements };
        const saveState = sql("UPDATE agm_api_keys SET state = ? WHERE api_key_id = ?", after, apiKeyId);
        return { result, saveStatements: [...saveStatements, saveState] };
      },
    });
  }

  async #register(): Promise<void> {
    const { baseUrl, apiKeyId } = this.#scope;
    await this.#engine.transact({
      durability: "survives_process_kill",
      locks: [],
      loadStatements: [],
      decide: () => ({
        result: undefined,
        saveStatements: [
          sql("INSERT INTO agm_services (base_url) VALUES (?) ON CONFLICT DO NOTHING", baseUrl),
          sql(
            "INSERT INTO agm_api_keys (api_key_id, base_url, state) VALUES (?, ?, '') ON CONFLICT DO NOTHING",
            apiKeyId,
            baseUrl,
          ),
          buildSaveMachineKeyStatement(this.#scope),
        ],
      }),
    });
    this.#isRegistered = true;
  }
}

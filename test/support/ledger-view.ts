/** Reads a ledger on SQLite or PostgreSQL from outside the servers, without changing records. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { systemClock } from "../../src/clock.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { openEngine, openLedger } from "../../src/ledger/open-ledger.ts";
import { type RequestRecord, requestRecordSchema } from "../../src/ledger/record.ts";
import { type SqlEngine, sql } from "../../src/ledger/store/sql-engine.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";

export interface LedgerLocation {
  readonly stateDir: string;
  /** The address of PostgreSQL; `null` if the ledger is a SQLite file in the state folder. */
  readonly storeUrl: string | null;
  readonly baseUrl: string;
  readonly apiKeys: readonly string[];
}

const BUDGET_WINDOW_MS = 24 * 60 * 60 * 1000;

const recordRows = z.array(z.object({ record_json: z.string() }));
const nameRows = z.array(z.object({ record_id: z.string() }));

export class LedgerView {
  readonly #location: LedgerLocation;
  readonly #engine: SqlEngine;
  readonly #ledger: Ledger;

  private constructor(location: LedgerLocation, engine: SqlEngine, ledger: Ledger) {
    this.#location = location;
    this.#engine = engine;
    this.#ledger = ledger;
  }

  static async open(location: LedgerLocation): Promise<LedgerView> {
    const { baseUrl, apiKeys } = location;
    const options = { config: location, log: createLog("silent", (text) => text), clock: systemClock };
    const serviceAccess = { baseUrl, apiKey: apiKeys[0] ?? "" };
    const ledger = await openLedger({ ...options, serviceAccess, processId: createProcessId() });
    return new LedgerView(location, await openEngine(options), ledger);
  }

  /** Returns the records of all API keys. */
  async records(): Promise<RequestRecord[]> {
    const rows = await this.#rows("SELECT record_json FROM agm_records WHERE base_url = ?");
    return recordRows
      .parse(rows)
      .map(({ record_json }) => requestRecordSchema.parse(JSON.parse(record_json)));
  }

  /** Returns the credits that the budget counts, for all API keys of the service. */
  spentCredits(): Promise<number> {
    return this.#ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS);
  }

  /** Returns the ids of the records that have a concurrency slot. */
  async concurrencySlots(): Promise<string[]> {
    const rows = await this.#rows(
      "SELECT record_id FROM agm_records WHERE base_url = ? AND concurrency_slot_state IS NOT NULL",
    );
    return nameRows.parse(rows).map(({ record_id }) => record_id);
  }

  async close(): Promise<void> {
    await this.#engine.close();
    await this.#ledger.store.close();
  }

  async #rows(text: string): Promise<readonly unknown[]> {
    const { storeUrl, stateDir, baseUrl } = this.#location;
    if (storeUrl === null && !existsSync(join(stateDir, "ledger.sqlite"))) return [];
    const [rows = []] = await this.#engine.read([sql(text, baseUrl)]);
    return rows;
  }
}

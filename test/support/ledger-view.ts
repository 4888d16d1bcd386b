/** What a ledger holds, over either store, seen through its own interface by a process of its own; changes nothing. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "@keyv/redis";
import { z } from "zod";
import { systemClock } from "../../src/clock.ts";
import { createHolderId } from "../../src/holder.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import type { TaskRecord } from "../../src/ledger/record.ts";
import { accountKeys } from "../../src/ledger/redis/redis-keys.ts";
import { createLog } from "../../src/log.ts";

export interface LedgerPlaceAndKeys {
  readonly stateDir: string;
  /** `null`: SQLite in the state folder. */
  readonly storeUrl: string | null;
  readonly baseUrl: string;
  readonly apiKeys: readonly string[];
}

const BUDGET_WINDOW_MS = 24 * 60 * 60 * 1000;
/** More than any test writes. */
const ALL = 10_000;

const names = z.array(z.string());
const keyRows = z.array(z.object({ key: z.string() }));

export class LedgerView {
  readonly #where: LedgerPlaceAndKeys;
  readonly #ledgers: readonly Ledger[];

  private constructor(where: LedgerPlaceAndKeys, ledgers: readonly Ledger[]) {
    this.#where = where;
    this.#ledgers = ledgers;
  }

  static async open(where: LedgerPlaceAndKeys): Promise<LedgerView> {
    const { stateDir, storeUrl, baseUrl, apiKeys } = where;
    const log = createLog("silent", (text) => text);
    const ledgers = await Promise.all(
      apiKeys.map((apiKey) =>
        openLedger({
          config: { stateDir, storeUrl },
          address: { baseUrl, apiKey },
          holder: createHolderId(),
          log,
          clock: systemClock,
        }),
      ),
    );
    return new LedgerView(where, ledgers);
  }

  /** Of all keys. */
  async records(): Promise<TaskRecord[]> {
    const lists = this.#ledgers.map((ledger) => ledger.list({ accounts: "own", limit: ALL }));
    return (await Promise.all(lists)).flat();
  }

  /** What the budget counts; a SQLite file counts the whole origin, Redis each key by itself. */
  async spentCredits(): Promise<number> {
    const ledgers = this.#where.storeUrl === null ? this.#ledgers.slice(0, 1) : this.#ledgers;
    const spent = await Promise.all(ledgers.map(({ store }) => store.spentCredits(BUDGET_WINDOW_MS)));
    return spent.reduce((sum, credits) => sum + credits, 0);
  }

  /** Names of the records that take a place in flight, as the store itself has them. */
  async inFlight(): Promise<string[]> {
    const { stateDir, storeUrl } = this.#where;
    if (storeUrl !== null) return await this.#inFlightOnRedis(storeUrl);
    const file = join(stateDir, "ledger.sqlite");
    if (!existsSync(file)) return [];
    const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    try {
      const rows = db.prepare("SELECT key FROM records WHERE flight IS NOT NULL").all();
      return keyRows.parse(rows).map(({ key }) => key);
    } finally {
      db.close();
    }
  }

  async #inFlightOnRedis(url: string): Promise<string[]> {
    const client = await createClient({ url }).connect();
    try {
      const found: string[] = [];
      for (const { identity } of this.#ledgers) {
        const { flight } = accountKeys(identity.accountId);
        found.push(...names.parse(await client.sendCommand(["HKEYS", flight])));
      }
      return found;
    } finally {
      client.destroy();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#ledgers.map(({ store }) => store.close()));
  }
}

/** Reads a ledger on SQLite or PostgreSQL from outside the servers, without changing it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import Client from "pg/lib/client.js";
import {
  attemptsQuery,
  FILES_QUERY,
  type LedgerAttempt,
  type LedgerFile,
  type LedgerQuery,
  type LedgerRecord,
  parseAttempts,
  parseFiles,
  parseRecords,
  parseTotal,
  recordsQuery,
  spentCreditsQuery,
} from "./ledger-rows.ts";

export interface LedgerLocation {
  readonly stateDir: string;
  /** The address of PostgreSQL; `null` if the ledger is a SQLite file in the state folder. */
  readonly storeUrl: string | null;
  readonly baseUrl: string;
  readonly apiKeys: readonly string[];
}

/** Runs one query; what it returns is checked by the functions of ledger-rows.ts. */
interface Connection {
  query(query: LedgerQuery): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/** A ledger file need not exist: a server makes it with its first call. */
function openFile(path: string): Connection {
  if (!existsSync(path)) return { query: async () => [], close: async () => undefined };
  const db = new DatabaseSync(path, { timeout: 5000 });
  return {
    query: async ({ text, values }) => db.prepare(text).all(...values),
    close: async () => db.close(),
  };
}

async function connect(storeUrl: string): Promise<Connection> {
  const client = new Client({ connectionString: storeUrl });
  await client.connect();
  return {
    query: async ({ text, values }) => {
      let count = 0;
      const numbered = text.replaceAll("?", () => `$${++count}`);
      return (await client.query(numbered, [...values])).rows;
    },
    close: () => client.end(),
  };
}

export class LedgerView {
  readonly #baseUrl: string;
  readonly #connection: Connection;

  private constructor(baseUrl: string, connection: Connection) {
    this.#baseUrl = baseUrl;
    this.#connection = connection;
  }

  static async open({ stateDir, storeUrl, baseUrl }: LedgerLocation): Promise<LedgerView> {
    const connection =
      storeUrl === null ? openFile(join(stateDir, "ledger.sqlite")) : await connect(storeUrl);
    return new LedgerView(baseUrl, connection);
  }

  /** Returns the records of all API keys. */
  async records(): Promise<LedgerRecord[]> {
    const { query } = this.#connection;
    return parseRecords(await query(recordsQuery(this.#baseUrl)), await query(FILES_QUERY));
  }

  /** Returns the attempts of all API keys. */
  async attempts(): Promise<LedgerAttempt[]> {
    return parseAttempts(await this.#connection.query(attemptsQuery(this.#baseUrl)));
  }

  /** Returns all files that were ever saved. */
  async files(): Promise<LedgerFile[]> {
    return parseFiles(await this.#connection.query(FILES_QUERY));
  }

  /** Returns the credits that the budget counts, for all API keys of the service. */
  async spentCredits(): Promise<number> {
    const rows = await this.#connection.query(spentCreditsQuery(this.#baseUrl));
    return rows.length === 0 ? 0 : parseTotal(rows);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

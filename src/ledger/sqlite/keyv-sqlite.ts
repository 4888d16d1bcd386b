/** Owns the Keyv storage adapter over the ledger file; knows nothing of what the values mean. */
import { EventEmitter } from "node:events";
import type { KeyvStoreAdapter } from "keyv";
import { z } from "zod";
import type { LedgerDatabase } from "./database.ts";

const valueRow = z.object({ value: z.string() });
const entryRow = z.object({ key: z.string(), value: z.string() });
const keyRow = z.object({ key: z.string() });

/** Rows fetched at a time when everything is walked. */
const PAGE_ROWS = 100;

/**
 * Values are the strings that Keyv's serialiser made. A time to live is not kept here: Keyv stores it inside the
 * value, and the ledger never sets one.
 */
export class KeyvSqlite extends EventEmitter implements KeyvStoreAdapter {
  readonly opts: { dialect: "sqlite"; url: string };
  namespace?: string | undefined;
  readonly #database: LedgerDatabase;

  constructor(database: LedgerDatabase) {
    super();
    this.#database = database;
    this.opts = { dialect: "sqlite", url: `sqlite://${database.file}` };
  }

  // Keyv's interface lets the caller name the type of what is stored; here it is always text.
  async get<Value>(key: string): Promise<Value | undefined> {
    const [value] = await this.getMany<Value>([key]);
    return value;
  }

  getMany<Value>(keys: string[]): Promise<Array<Value | undefined>> {
    return this.#database.read((session) =>
      keys.map((key) => {
        const row = session.get("SELECT value FROM kv WHERE key = ?", key);
        return row === undefined ? undefined : (valueRow.parse(row).value as Value);
      }),
    );
  }

  async set(key: string, value: unknown): Promise<void> {
    await this.setMany([{ key, value }]);
  }

  setMany(entries: Array<{ key: string; value: unknown }>): Promise<void> {
    return this.#database.write((session) => {
      for (const { key, value } of entries) {
        session.run(
          "INSERT INTO kv (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
          key,
          z.string().parse(value),
        );
      }
    }, "power_cut");
  }

  delete(key: string): Promise<boolean> {
    return this.deleteMany([key]);
  }

  deleteMany(keys: string[]): Promise<boolean> {
    return this.#database.write((session) => {
      let deleted = 0;
      for (const key of keys) deleted += session.run("DELETE FROM kv WHERE key = ?", key);
      return deleted > 0;
    }, "power_cut");
  }

  async clear(): Promise<void> {
    const { from, to } = keyRange(this.namespace);
    await this.#database.write(
      (session) => session.run("DELETE FROM kv WHERE key >= ? AND key < ?", from, to),
      "power_cut",
    );
  }

  has(key: string): Promise<boolean> {
    return this.#database.read((session) => session.get("SELECT 1 FROM kv WHERE key = ?", key) !== undefined);
  }

  async *iterator<Value>(
    namespace?: string,
  ): AsyncGenerator<Array<string | Awaited<Value> | undefined>, void> {
    const { from, to } = keyRange(namespace);
    let after: string | undefined;
    for (;;) {
      const rows = await this.#database.read((session) =>
        after === undefined
          ? session.all(
              "SELECT key, value FROM kv WHERE key >= ? AND key < ? ORDER BY key LIMIT ?",
              from,
              to,
              PAGE_ROWS,
            )
          : session.all(
              "SELECT key, value FROM kv WHERE key > ? AND key < ? ORDER BY key LIMIT ?",
              after,
              to,
              PAGE_ROWS,
            ),
      );
      for (const { key, value } of entryRow.array().parse(rows)) yield [key, value];
      if (rows.length < PAGE_ROWS) return;
      after = keyRow.parse(rows.at(-1)).key;
    }
  }

  async disconnect(): Promise<void> {
    this.#database.close();
  }
}

/** Every key that Keyv prefixed with the namespace; `;` is the character after the `:` that ends the prefix. */
function keyRange(namespace: string | undefined): { from: string; to: string } {
  return namespace === undefined || namespace === ""
    ? { from: "", to: "\u{10ffff}" }
    : { from: `${namespace}:`, to: `${namespace};` };
}

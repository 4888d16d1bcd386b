/**
 * Stores Keyv's documents in one SQL table. A document is a plan, or a copy of a damaged record. It is read and written
 * whole.
 */
import { EventEmitter } from "node:events";
import type { DeserializedData, KeyvOptions, KeyvStoreAdapter } from "keyv";
import { z } from "zod";
import { type SqlEngine, type Statement, sql } from "./sql-engine.ts";

const documentRow = z.object({ name: z.string(), value: z.string() });

/** Number of documents that the iterator reads at a time. */
const PAGE_ROWS = 100;

function deserialize<Value>(text: string): DeserializedData<Value> {
  // Do not check the value here, because Keyv lets the caller choose the type `Value`. The code that reads a document
  // parses the value.
  const { value } = z.object({ value: z.unknown() }).parse(JSON.parse(text));
  return { value: value as Value };
}

/**
 * Options of Keyv. Documents do not expire. Errors are thrown, because an error must not look like a missing document.
 */
export const DOCUMENT_KEYV_OPTIONS = {
  namespace: "document",
  throwOnErrors: true,
  emitErrors: false,
  serialize: (data) => JSON.stringify({ value: data.value }),
  deserialize,
} satisfies KeyvOptions;

/**
 * Keyv's storage adapter. Stores the strings of Keyv's serialiser. The ledger gets and sets single documents; the
 * other methods belong to Keyv's interface, which Keyv's own test suite checks.
 */
export class KeyvDocuments extends EventEmitter implements KeyvStoreAdapter {
  readonly opts: { dialect: string; url: string };
  namespace?: string | undefined;
  readonly #engine: SqlEngine;

  constructor(engine: SqlEngine) {
    super();
    this.#engine = engine;
    this.opts = { dialect: "sql", url: engine.description };
  }

  async get<Value>(key: string): Promise<Value | undefined> {
    const [value] = await this.getMany<Value>([key]);
    return value;
  }

  async getMany<Value>(keys: string[]): Promise<Array<Value | undefined>> {
    const rowsByKey = await this.#engine.read(keys.map(buildSelectDocumentStatement));
    // Keyv lets the caller choose the type `Value`, but a stored value is always text.
    return rowsByKey.map(([row]) =>
      row === undefined ? undefined : (documentRow.parse(row).value as Value),
    );
  }

  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined;
  }

  async set(key: string, value: unknown): Promise<void> {
    await this.setMany([{ key, value }]);
  }

  async setMany(entries: Array<{ key: string; value: unknown }>): Promise<void> {
    await this.#write(
      entries.map(({ key, value }) =>
        sql(
          "INSERT INTO agm_documents (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
          key,
          z.string().parse(value),
        ),
      ),
    );
  }

  delete(key: string): Promise<boolean> {
    return this.deleteMany([key]);
  }

  deleteMany(keys: string[]): Promise<boolean> {
    return this.#engine.transact({
      durability: "survives_power_cut",
      locks: [],
      loadStatements: keys.map(buildSelectDocumentStatement),
      decide: ({ loaded }) => ({
        result: loaded.some((rows) => rows.length > 0),
        saveStatements: keys.map((key) => sql("DELETE FROM agm_documents WHERE name = ?", key)),
      }),
    });
  }

  async clear(): Promise<void> {
    const { from, to } = nameRange(this.namespace);
    await this.#write([sql("DELETE FROM agm_documents WHERE name >= ? AND name < ?", from, to)]);
  }

  async *iterator<Value>(
    namespace?: string,
  ): AsyncGenerator<Array<string | Awaited<Value> | undefined>, void> {
    const { from, to } = nameRange(namespace);
    for (let after = "", isFirst = true; ; isFirst = false) {
      const [rows = []] = await this.#engine.read([
        sql(
          `SELECT name, value FROM agm_documents WHERE name ${isFirst ? ">=" : ">"} ? AND name < ?
           ORDER BY name LIMIT ${PAGE_ROWS}`,
          isFirst ? from : after,
          to,
        ),
      ]);
      for (const { name, value } of documentRow.array().parse(rows)) {
        yield [name, value];
        after = name;
      }
      if (rows.length < PAGE_ROWS) return;
    }
  }

  async disconnect(): Promise<void> {
    await this.#engine.close();
  }

  #write(saveStatements: readonly Statement[]): Promise<void> {
    return this.#engine.transact({
      durability: "survives_power_cut",
      locks: [],
      loadStatements: [],
      decide: () => ({ result: undefined, saveStatements }),
    });
  }
}

const buildSelectDocumentStatement = (key: string): Statement =>
  sql("SELECT name, value FROM agm_documents WHERE name = ?", key);

/**
 * Returns the range of keys that begin with `namespace:`, which is Keyv's prefix. The range ends before `namespace;`,
 * because `;` comes directly after `:` in the sort order.
 */
function nameRange(namespace: string | undefined): { from: string; to: string } {
  return namespace === undefined || namespace === ""
    ? { from: "", to: "\u{10ffff}" }
    : { from: `${namespace}:`, to: `${namespace};` };
}

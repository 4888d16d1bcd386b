/** Stores Keyv's documents in one SQL table. A document is a plan, and is read and written whole. */
import { EventEmitter } from "node:events";
import type { DeserializedData, KeyvOptions, KeyvStoreAdapter } from "keyv";
import { z } from "zod";
import type { Database } from "./database.ts";
import type { Tables } from "./schema.ts";

type DocumentRow = Tables["agm_document"];

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
  readonly #database: Database;

  constructor(database: Database) {
    super();
    this.#database = database;
    this.opts = { dialect: "sql", url: database.description };
  }

  async get<Value>(key: string): Promise<Value | undefined> {
    const [value] = await this.getMany<Value>([key]);
    return value;
  }

  async getMany<Value>(keys: string[]): Promise<Array<Value | undefined>> {
    if (keys.length === 0) return [];
    const rows = await this.#database.run((db) =>
      db.selectFrom("agm_document").selectAll().where("name", "in", keys).execute(),
    );
    const valueByName = new Map(rows.map(({ name, value }) => [name, value]));
    // Keyv lets the caller choose the type `Value`, but a stored value is always text.
    return keys.map((key) => valueByName.get(key) as Value | undefined);
  }

  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined;
  }

  async set(key: string, value: unknown): Promise<void> {
    await this.setMany([{ key, value }]);
  }

  async setMany(entries: Array<{ key: string; value: unknown }>): Promise<void> {
    const rows = entries.map(({ key, value }) => ({ name: key, value: z.string().parse(value) }));
    await this.#database.tx(async (tx) => {
      // Write one row at a time, because PostgreSQL refuses a name that comes twice in one statement.
      for (const row of rows) {
        await tx
          .insertInto("agm_document")
          .values(row)
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: row.value }))
          .execute();
      }
    });
  }

  delete(key: string): Promise<boolean> {
    return this.deleteMany([key]);
  }

  async deleteMany(keys: string[]): Promise<boolean> {
    if (keys.length === 0) return false;
    const { numDeletedRows } = await this.#database.run((db) =>
      db.deleteFrom("agm_document").where("name", "in", keys).executeTakeFirst(),
    );
    return numDeletedRows > 0n;
  }

  async clear(): Promise<void> {
    const { from, to } = buildNameRange(this.namespace);
    await this.#database.run((db) =>
      db.deleteFrom("agm_document").where("name", ">=", from).where("name", "<", to).execute(),
    );
  }

  async *iterator<Value>(
    namespace?: string,
  ): AsyncGenerator<Array<string | Awaited<Value> | undefined>, void> {
    const { from, to } = buildNameRange(namespace);
    for (let page = await this.#readPage(">=", from, to); ; ) {
      for (const { name, value } of page) yield [name, value];
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) return;
      page = await this.#readPage(">", last.name, to);
    }
  }

  async disconnect(): Promise<void> {
    await this.#database.close();
  }

  #readPage(comparison: ">" | ">=", start: string, end: string): Promise<DocumentRow[]> {
    return this.#database.run((db) =>
      db
        .selectFrom("agm_document")
        .selectAll()
        .where("name", comparison, start)
        .where("name", "<", end)
        .orderBy("name")
        .limit(PAGE_ROWS)
        .execute(),
    );
  }
}

/**
 * Returns the range of keys that begin with `namespace:`, which is Keyv's prefix. The range ends before `namespace;`,
 * because `;` comes directly after `:` in the sort order.
 */
function buildNameRange(namespace: string | undefined): { from: string; to: string } {
  return namespace === undefined || namespace === ""
    ? { from: "", to: "\u{10ffff}" }
    : { from: `${namespace}:`, to: `${namespace};` };
}

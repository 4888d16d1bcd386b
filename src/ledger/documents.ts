/** Stores Keyv's documents in one SQL table. A document is a plan, and is read and written whole. */
import { EventEmitter } from "node:events";
import type { DeserializedData, KeyvOptions, KeyvStoreAdapter } from "keyv";
import { sql } from "kysely";
import { z } from "zod";
import type { Database } from "./database.ts";

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

/** Keyv's storage adapter, with the methods that Keyv requires. Stores the strings of Keyv's serialiser. */
export class KeyvDocuments extends EventEmitter implements KeyvStoreAdapter {
  readonly opts: { dialect: string; url: string };
  /** Set by Keyv, which begins each key with it and a colon. */
  namespace?: string | undefined;
  readonly #database: Database;

  constructor(database: Database) {
    super();
    this.#database = database;
    this.opts = { dialect: "sql", url: database.description };
  }

  async get<Value>(key: string): Promise<Value | undefined> {
    const row = await this.#database.run((db) =>
      db.selectFrom("agm_document").select("value").where("name", "=", key).executeTakeFirst(),
    );
    // Keyv lets the caller choose the type `Value`, but a stored value is always text.
    return row?.value as Value | undefined;
  }

  async set(key: string, value: unknown): Promise<void> {
    const row = { name: key, value: z.string().parse(value) };
    await this.#database.run((db) =>
      db
        .insertInto("agm_document")
        .values(row)
        .onConflict((conflict) => conflict.column("name").doUpdateSet(row))
        .execute(),
    );
  }

  async delete(key: string): Promise<boolean> {
    const { numDeletedRows } = await this.#database.run((db) =>
      db.deleteFrom("agm_document").where("name", "=", key).executeTakeFirst(),
    );
    return numDeletedRows > 0n;
  }

  async clear(): Promise<void> {
    const prefix = `${this.namespace ?? ""}:`;
    const isOfNamespace = sql<boolean>`substr(name, 1, ${prefix.length}) = ${prefix}`;
    await this.#database.run((db) => db.deleteFrom("agm_document").where(isOfNamespace).execute());
  }
}

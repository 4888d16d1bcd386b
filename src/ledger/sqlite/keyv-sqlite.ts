/** The Keyv storage adapter over the ledger's rows: a record that passes through keeps its columns in step. */
import { EventEmitter } from "node:events";
import type { KeyvStoreAdapter } from "keyv";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { AudioError } from "../../errors.ts";
import type { HolderId } from "../../holder.ts";
import { storedValue } from "../keyv-options.ts";
import { type Row, rowOf, taskRecordSchema } from "../record.ts";
import type { LedgerDatabase, Session } from "./database.ts";
import { dropRow, keyOf, nextPlace, putRow, putText, readRow } from "./record-rows.ts";

const valueRow = z.object({ value: z.string() });
const entryRow = z.object({ key: z.string(), value: z.string() });
const keyRow = z.object({ key: z.string() });

/** Rows fetched at a time when everything is walked. */
const PAGE_ROWS = 100;

export interface AdapterOptions {
  readonly clock: Pick<Clock, "steadyMs">;
  readonly holder: HolderId;
}

/** The row of a text that is a record under its own name, else `undefined`. */
function recordRow(key: string, text: string): Row | undefined {
  const record = taskRecordSchema.safeParse(storedValue(text)).data;
  if (record === undefined || key !== keyOf(record.accountId, record.recordId)) return undefined;
  return { ...rowOf(record), value: text };
}

/**
 * Values are the strings that Keyv's serialiser made. A time to live is not kept here: Keyv stores it inside the
 * value, and the ledger never sets one. The ledger itself only gets, sets copies aside and deletes damaged rows;
 * many at once, `clear`, `has`, `iterator` and `disconnect` are there because Keyv's own test suite asks for them.
 */
export class KeyvSqlite extends EventEmitter implements KeyvStoreAdapter {
  readonly opts: { dialect: "sqlite"; url: string };
  namespace?: string | undefined;
  readonly #database: LedgerDatabase;
  readonly #options: AdapterOptions;

  constructor(database: LedgerDatabase, options: AdapterOptions) {
    super();
    this.#database = database;
    this.#options = options;
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
        const row = session.get("SELECT value FROM records WHERE key = ?", key);
        return row === undefined ? undefined : (valueRow.parse(row).value as Value);
      }),
    );
  }

  async set(key: string, value: unknown): Promise<void> {
    await this.setMany([{ key, value }]);
  }

  setMany(entries: Array<{ key: string; value: unknown }>): Promise<void> {
    return this.#database.write((session) => {
      for (const { key, value } of entries) this.#put(session, key, z.string().parse(value));
    }, "power_cut");
  }

  /** @throws AudioError for a record of which a newer revision is stored */
  #put(session: Session, key: string, text: string): void {
    const row = recordRow(key, text);
    if (row === undefined) {
      putText(session, key, text);
      return;
    }
    const stored = readRow(session, key);
    if (stored !== undefined && stored.revision !== null && stored.revision > row.revision) {
      throw new AudioError(
        "store_unavailable",
        `The ledger holds a newer revision of record ${row.recordId} (${stored.revision}, not ${row.revision}); nothing was written.`,
        { retryable: true },
      );
    }
    const { clock, holder } = this.#options;
    putRow(session, stored, row, nextPlace(stored, row, { steadyMs: clock.steadyMs(), holder }));
  }

  delete(key: string): Promise<boolean> {
    return this.deleteMany([key]);
  }

  /** What a deleted record has spent stays counted: damage must not free a budget. */
  deleteMany(keys: string[]): Promise<boolean> {
    return this.#database.write((session) => {
      const stored = keys.map((key) => readRow(session, key)).filter((row) => row !== undefined);
      for (const row of stored) dropRow(session, row, "kept");
      return stored.length > 0;
    }, "power_cut");
  }

  /** For Keyv's suite alone. */
  async clear(): Promise<void> {
    const { from, to } = keyRange(this.namespace);
    const keys = await this.#database.read((session) =>
      keyRow.array().parse(session.all("SELECT key FROM records WHERE key >= ? AND key < ?", from, to)),
    );
    await this.deleteMany(keys.map(({ key }) => key));
  }

  /** For Keyv's suite alone. */
  has(key: string): Promise<boolean> {
    return this.#database.read(
      (session) => session.get("SELECT 1 FROM records WHERE key = ?", key) !== undefined,
    );
  }

  /** For Keyv's suite alone. */
  async *iterator<Value>(
    namespace?: string,
  ): AsyncGenerator<Array<string | Awaited<Value> | undefined>, void> {
    const { from, to } = keyRange(namespace);
    let after: string | undefined;
    for (;;) {
      const rows = await this.#database.read((session) =>
        session.all(
          `SELECT key, value FROM records WHERE key ${after === undefined ? ">=" : ">"} ? AND key < ?
           ORDER BY key LIMIT ?`,
          after ?? from,
          to,
          PAGE_ROWS,
        ),
      );
      for (const { key, value } of entryRow.array().parse(rows)) yield [key, value];
      if (rows.length < PAGE_ROWS) return;
      after = keyRow.parse(rows.at(-1)).key;
    }
  }

  /** For Keyv's suite alone. */
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

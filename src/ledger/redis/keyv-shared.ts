/** Keyv's adapter over Redis: records are their hashes' values; whatever else is stored is a string of its own. */
import { EventEmitter } from "node:events";
import type { KeyvStoreAdapter } from "keyv";
import { z } from "zod";
import { AudioError } from "../../errors.ts";
import { RECORD_KEYV_OPTIONS, storedValue } from "../keyv-options.ts";
import { recordKey } from "../ledger-store.ts";
import { type Row, rowOf, taskRecordSchema } from "../record.ts";
import { REMOVE, SET_RECORD } from "./record-scripts.ts";
import { PLAIN_PREFIX } from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";
import type { Place, Rows } from "./redis-rows.ts";

export type UseLink = <T>(work: (link: RedisLink) => Promise<T>) => Promise<T>;

/** Keys asked for at a time when everything is walked. */
const PAGE_KEYS = "500";

const text = z.string().nullable();
const scanAnswer = z.tuple([z.string(), z.array(z.string())]);
const verdict = z.tuple([z.enum(["written", "refused"])]).rest(z.unknown());

/** Made for a Keyv with `useKeyPrefix: false`: what is not a record gets this adapter's namespace before its key. */
export class KeyvShared extends EventEmitter implements KeyvStoreAdapter {
  readonly opts: { dialect: "redis"; url: string };
  namespace?: string | undefined;
  readonly #use: UseLink;
  readonly #rows: Rows;

  constructor(use: UseLink, rows: Rows, place: string) {
    super();
    this.#use = use;
    this.#rows = rows;
    this.opts = { dialect: "redis", url: `redis://${place}` };
  }

  // Keyv's interface lets the caller name the type of what is stored; here it is always text.
  get<Value>(key: string): Promise<Value | undefined> {
    return this.#use(async (link) => (await this.#get(link, key)) as Value | undefined);
  }

  getMany<Value>(keys: string[]): Promise<Array<Value | undefined>> {
    return this.#use(
      (link) => Promise.all(keys.map((key) => this.#get(link, key))) as Promise<Array<Value | undefined>>,
    );
  }

  /** A record goes with all that follows from it; an older one than is stored is refused. */
  set(key: string, value: unknown, ttl?: number): Promise<void> {
    return this.#use((link) => this.#set(link, key, z.string().parse(value), ttl));
  }

  async setMany(entries: Array<{ key: string; value: unknown; ttl?: number }>): Promise<void> {
    await this.#use((link) =>
      Promise.all(entries.map(({ key, value, ttl }) => this.#set(link, key, z.string().parse(value), ttl))),
    );
  }

  delete(key: string): Promise<boolean> {
    return this.deleteMany([key]);
  }

  async deleteMany(keys: string[]): Promise<boolean> {
    const deleted = await this.#use((link) => Promise.all(keys.map((key) => this.#delete(link, key))));
    return deleted.includes(true);
  }

  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined;
  }

  /** Only Keyv's own test suite asks for this: records stay, for the ledger clears nothing. */
  async clear(): Promise<void> {
    for await (const page of this.#pages(this.namespace)) {
      await this.#use((link) => Promise.all(page.map((key) => link.send(key, ["UNLINK", key]))));
    }
  }

  /** Only Keyv's own test suite asks for this: the ledger has lists of its records, which are not among these. */
  async *iterator<Value>(
    namespace?: string,
  ): AsyncGenerator<Array<string | Awaited<Value> | undefined>, void> {
    const from = plainKey(namespace, "").length;
    for await (const page of this.#pages(namespace)) {
      for (const key of page) {
        const value = await this.#use((link) => link.send(key, ["GET", key]));
        yield [key.slice(from), text.parse(value) as Awaited<Value>];
      }
    }
  }

  async #get(link: RedisLink, key: string): Promise<string | undefined> {
    const place = this.#placeOf(key);
    if (place !== undefined) return this.#rows.value(link, place);
    const plain = plainKey(this.namespace, key);
    return text.parse(await link.send(plain, ["GET", plain])) ?? undefined;
  }

  async #set(link: RedisLink, key: string, value: string, ttl: number | undefined): Promise<void> {
    const place = this.#placeOf(key);
    if (place === undefined) {
      const plain = plainKey(this.namespace, key);
      // The ledger sets no time to live; Keyv's test suite does.
      await link.send(plain, ["SET", plain, value, ...(ttl === undefined ? [] : ["PX", String(ttl)])]);
      return;
    }
    const question = { place, after: rowIn(value, key), value };
    const [answer] = verdict.parse(await this.#rows.run(link, SET_RECORD, question));
    if (answer === "written") return;
    throw new AudioError("store_unavailable", `A newer revision of the ledger's record ${key} is stored.`, {
      retryable: true,
      remedy: "Call again: the record is then read anew.",
    });
  }

  async #delete(link: RedisLink, key: string): Promise<boolean> {
    const place = this.#placeOf(key);
    if (place === undefined) {
      const plain = plainKey(this.namespace, key);
      return (await link.send(plain, ["UNLINK", plain])) === 1;
    }
    const question = { place, after: null, more: { keepsSpend: true } };
    return verdict.parse(await this.#rows.run(link, REMOVE, question))[0] === "written";
  }

  #placeOf(key: string): Place | undefined {
    if (this.namespace !== RECORD_KEYV_OPTIONS.namespace) return undefined;
    const [, accountId, recordId] = /^([^/:]+)\/([^/]+)$/.exec(key) ?? [];
    return accountId === undefined || recordId === undefined ? undefined : { accountId, recordId };
  }

  /** Bounded page by page, not as a whole: each page waits for the caller. */
  async *#pages(namespace: string | undefined): AsyncGenerator<string[]> {
    const pattern = `${plainKey(namespace, "").replace(/[\\*?[\]]/g, "\\$&")}*`;
    const nodes = await this.#use((link) => link.nodes());
    for (const node of nodes) {
      let cursor = "0";
      do {
        const from = cursor;
        const scan = (): Promise<unknown> => node(["SCAN", from, "MATCH", pattern, "COUNT", PAGE_KEYS]);
        const [next, keys] = scanAnswer.parse(await this.#use(scan));
        yield keys;
        cursor = next;
      } while (cursor !== "0");
    }
  }
}

function plainKey(namespace: string | undefined, key: string): string {
  return `${PLAIN_PREFIX}${namespace === undefined || namespace === "" ? "" : `${namespace}:`}${key}`;
}

/** What follows from a value, where it is the record of that name. */
function rowIn(value: string, key: string): Row | null {
  const record = taskRecordSchema.safeParse(storedValue(value)).data;
  if (record === undefined || recordKey(record.accountId, record.recordId) !== key) return null;
  return { ...rowOf(record), value };
}

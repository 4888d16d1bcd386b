/** Takes a store with the layout of version 0.1.0 over: every record into its account, then the version is raised. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import type { Log } from "../../log.ts";
import { storedValue, UnreadableText } from "../keyv-options.ts";
import { readRecord } from "../migrations.ts";
import { rowOf, type TaskRecord } from "../record.ts";
import { BRING_IN } from "./record-scripts.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { PLAIN_PREFIX, TAKE_OVER_LOCK_KEY, VERSION_KEY } from "./redis-keys.ts";
import type { RedisLink, Send } from "./redis-link.ts";
import { bucketOf, type Rows } from "./redis-rows.ts";

/** Names of version 0.1.0. */
const OLD_RECORDS = "audio-generation-mcp:record:";
const OLD_IN_FLIGHT_KEY = "audio-generation-mcp:{ledger}:in-flight";
const OLD_SPEND_KEY = "audio-generation-mcp:{ledger}:spend";
const OLD_SPEND_ORDER_KEY = "audio-generation-mcp:{ledger}:spend-order";
/** Above 1, so that version 0.1.0 refuses the store as soon as somebody takes it over; below 2: it is not done. */
const UNDER_WAY = "1.5";
const DONE = "2";

const BATCH_KEYS = "500";
/** Renewed with every batch; a process that dies is followed by another after it. */
const LOCK_MS = "15000";
const ASK_AGAIN_MS = 250;
/** What was taken over stays under its old name for so long, for a person who wants to look; then Redis drops it. */
const OLD_KEPT_SECONDS = String(30 * 24 * 60 * 60);

const text = z.string().nullable();
const scanAnswer = z.tuple([z.string(), z.array(z.string())]);
const oldFlight = z.object({ attempted: z.coerce.number(), holder: z.string() });
const named = z.looseObject({ recordId: z.string() });
const oldSpend = z.object({ counted: z.number() });

export interface TakeOverOptions {
  readonly connection: RedisConnection;
  readonly log: Log;
  readonly rows: Rows;
  readonly wallMs: () => number;
  readonly signal: AbortSignal;
}

/**
 * Resolves once the store has the new layout, whoever took it over. Safe with several processes at once and after a
 * crash in the middle: a record that is there already stays, and the version is raised last.
 */
export async function takeOver(options: TakeOverOptions): Promise<void> {
  const { connection, signal } = options;
  const token = randomUUID();
  for (;;) {
    signal.throwIfAborted();
    const version = await connection.use(async (link) =>
      text.parse(await link.send(VERSION_KEY, ["GET", VERSION_KEY])),
    );
    if (version !== null && Number(version) >= Number(DONE)) return;
    if (await connection.use((link) => lock(link, token))) break;
    await pause(ASK_AGAIN_MS, undefined, { signal });
  }
  try {
    await new TakeOver(options, token).run();
  } finally {
    // Nobody has to wait for a process that has given it up; where that fails too, the lock expires.
    await connection.use((link) => unlock(link, token)).catch(() => undefined);
  }
}

/** Whether this process has the lock now. */
async function lock(link: RedisLink, token: string): Promise<boolean> {
  const taken = await link.send(TAKE_OVER_LOCK_KEY, ["SET", TAKE_OVER_LOCK_KEY, token, "NX", "PX", LOCK_MS]);
  if (taken !== null) return true;
  if ((await link.send(TAKE_OVER_LOCK_KEY, ["GET", TAKE_OVER_LOCK_KEY])) !== token) return false;
  await link.send(TAKE_OVER_LOCK_KEY, ["PEXPIRE", TAKE_OVER_LOCK_KEY, LOCK_MS]);
  return true;
}

async function unlock(link: RedisLink, token: string): Promise<void> {
  const holder = await link.send(TAKE_OVER_LOCK_KEY, ["GET", TAKE_OVER_LOCK_KEY]);
  if (holder === token) await link.send(TAKE_OVER_LOCK_KEY, ["UNLINK", TAKE_OVER_LOCK_KEY]);
}

class TakeOver {
  readonly #options: TakeOverOptions;
  readonly #token: string;
  #records = 0;
  readonly #newer = new Set<string>();

  constructor(options: TakeOverOptions, token: string) {
    this.#options = options;
    this.#token = token;
  }

  async run(): Promise<void> {
    const { connection, log } = this.#options;
    log.info("taking over the shared store of version 0.1.0");
    await connection.use((link) => link.send(VERSION_KEY, ["SET", VERSION_KEY, UNDER_WAY]));
    await this.#walk(`${OLD_RECORDS}*`, (link, keys) => this.#bringIn(link, keys));
    // Only now that every record is in: until then, all of them are where they were.
    await this.#walk("audio-generation-mcp:{ledger}:*", async (link, keys) => {
      await this.#expire(
        link,
        keys.filter((key) => key !== VERSION_KEY),
      );
    });
    await this.#walk(`${OLD_RECORDS}*`, (link, keys) =>
      this.#expire(
        link,
        keys.filter((key) => !this.#newer.has(key)),
      ),
    );
    await connection.use((link) => link.send(VERSION_KEY, ["SET", VERSION_KEY, DONE]));
    log.info(`took over ${this.#records} records of version 0.1.0`);
  }

  /** Every key of the pattern, a batch at a time, each within the bounds of a command. */
  async #walk(pattern: string, work: (link: RedisLink, keys: string[]) => Promise<void>): Promise<void> {
    const { connection, signal } = this.#options;
    const count = await connection.use(async (link) => (await link.nodes()).length);
    for (let at = 0; at < count; at += 1) {
      let cursor = "0";
      do {
        signal.throwIfAborted();
        const from = cursor;
        cursor = await connection.use(async (link) => {
          // Lost to another process while this one was suspended: that one does it all again, which is harmless.
          if (!(await lock(link, this.#token))) throw new Error("another process takes the store over");
          const node: Send | undefined = (await link.nodes())[at];
          if (node === undefined) throw new Error("the cluster has changed meanwhile");
          const scan = await node(["SCAN", from, "MATCH", pattern, "COUNT", BATCH_KEYS]);
          const [next, keys] = scanAnswer.parse(scan);
          await work(link, keys);
          return next;
        });
      } while (cursor !== "0");
    }
  }

  async #bringIn(link: RedisLink, keys: readonly string[]): Promise<void> {
    await Promise.all(
      keys.map(async (key) => {
        const content = text.parse(await link.send(key, ["GET", key]));
        if (content !== null) await this.#bringInOne(link, key.slice(OLD_RECORDS.length), content);
      }),
    );
  }

  async #bringInOne(link: RedisLink, oldId: string, content: string): Promise<void> {
    const { log, rows, wallMs } = this.#options;
    const value = storedValue(content);
    // Set aside by version 0.1.0 already: kept, like what is set aside now.
    if (oldId.startsWith("set-aside:")) return this.#keep(link, oldId, content);
    const read = readRecord(value);
    if (read.kind === "newer") {
      this.#newer.add(`${OLD_RECORDS}${oldId}`);
      log.error(`the record ${oldId} has version ${read.version} and was left where it is`);
      return;
    }
    const isNamesake = named.safeParse(value).data?.recordId === oldId;
    if (read.kind === "damaged" || !isNamesake) {
      const aside = `set-aside:${oldId}:${wallMs()}`;
      const kept = value instanceof UnreadableText ? value.text : JSON.stringify(value);
      const why = read.kind === "damaged" ? read.why : "it names another record";
      await this.#keep(link, aside, JSON.stringify({ value: kept }));
      log.error(`the record ${oldId} of version 0.1.0 is damaged and was set aside as ${aside}: ${why}`);
      return;
    }
    const { record } = read;
    const row = rowOf(record);
    const { isOver, ...flight } = await placeInFlight(link, oldId, record);
    const more = { isOver, earlier: await earlierSpend(link, oldId, record) };
    await rows.run(link, BRING_IN, { place: row, after: row, flight, more });
    this.#records += 1;
  }

  async #keep(link: RedisLink, name: string, content: string): Promise<void> {
    const key = `${PLAIN_PREFIX}record:${name}`;
    await link.send(key, ["SET", key, content, "NX"]);
  }

  async #expire(link: RedisLink, keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => link.send(key, ["EXPIRE", key, OLD_KEPT_SECONDS])));
  }
}

/** Version 0.1.0 kept places in flight apart: one without an entry there was over. */
async function placeInFlight(link: RedisLink, oldId: string, { attempt }: TaskRecord) {
  const field = `${attempt} ${oldId}`;
  const raw = text.parse(await link.send(OLD_IN_FLIGHT_KEY, ["HGET", OLD_IN_FLIGHT_KEY, field]));
  if (raw === null) return { isOver: true };
  const { attempted, holder } = oldFlight.parse(JSON.parse(raw));
  return { isOver: false, flightAt: attempted.toFixed(3), flightHolder: holder };
}

/** What earlier attempts cost, which their record does not say. */
async function earlierSpend(link: RedisLink, oldId: string, { attempt }: TaskRecord) {
  const found: Array<{ bucket: string; credits: number }> = [];
  for (let earlier = 1; earlier < attempt; earlier += 1) {
    const field = `${earlier} ${oldId}`;
    const raw = text.parse(await link.send(OLD_SPEND_KEY, ["HGET", OLD_SPEND_KEY, field]));
    const atMs = text.parse(await link.send(OLD_SPEND_ORDER_KEY, ["ZSCORE", OLD_SPEND_ORDER_KEY, field]));
    if (raw === null || atMs === null) continue;
    const { counted } = oldSpend.parse(JSON.parse(raw));
    if (counted > 0) found.push({ bucket: bucketOf(Number(atMs)), credits: counted });
  }
  return found;
}

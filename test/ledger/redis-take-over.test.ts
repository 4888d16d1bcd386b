/** A store that version 0.1.0 has left in Redis is taken over by whoever opens it first, whole and once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@keyv/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { RESERVED_CREDITS } from "../../src/contract/billing.ts";
import { accountFingerprint, accountId } from "../../src/ledger/identity.ts";
import { storedValue } from "../../src/ledger/keyv-options.ts";
import type { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { readRecord } from "../../src/ledger/migrations.ts";
import { rowOf, type TaskRecord } from "../../src/ledger/record.ts";
import { openRedisStore } from "../../src/ledger/redis/redis-store.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { aRecord } from "./a-record.ts";

const file = join(import.meta.dirname, "fixtures", "0.1.0", "redis.json");
const left = z
  .object({
    baseUrl: z.string(),
    apiKey: z.string(),
    otherKey: z.string(),
    commands: z.string().array().array(),
  })
  .parse(JSON.parse(readFileSync(file, "utf8")));

const VERSION_KEY = "audio-generation-mcp:{ledger}:version";
const OLD_RECORD = "audio-generation-mcp:record:";
const DAY_MS = 24 * 60 * 60 * 1000;
const own = accountId(left.baseUrl, accountFingerprint(left.apiKey));
const others = accountId(left.baseUrl, accountFingerprint(left.otherKey));
/** A moment after the last thing that version 0.1.0 did. */
const leftAtMs = Math.ceil(
  Math.max(...left.commands.flatMap(([, key = "", at = ""]) => (key.endsWith(":alive") ? [Number(at)] : []))),
);

describe.skipIf(whyNoRedis() !== undefined)("a store of version 0.1.0", () => {
  let server: RedisServer;
  let logged: string[];
  let skewMs: number;

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    logged = [];
    skewMs = leftAtMs - Date.now();
    await send(["FLUSHALL"], ...left.commands);
  });

  async function send(...commands: readonly (readonly string[])[]): Promise<unknown> {
    const client = await createClient({ url: server.url }).connect();
    try {
      let answer: unknown;
      for (const command of commands) answer = await client.sendCommand([...command]);
      return answer;
    } finally {
      client.destroy();
    }
  }

  function open(account = own): LedgerStore {
    const clock = new HandClock();
    clock.moveWall(leftAtMs - clock.wallMs());
    const log = createLog(
      "info",
      (text) => text,
      (line) => logged.push(line),
    );
    const identity = { origin: left.baseUrl, accountId: account, holder: "new-holder" };
    const shared = { storeUrl: server.url, log, clock, machineId: "machine", skewMs: () => skewMs };
    const store = openRedisStore({ ...shared, identity });
    onTestFinished(() => store.close());
    return store;
  }

  async function recordsOf(store: LedgerStore): Promise<TaskRecord[]> {
    const stored = await store.list({ accounts: "own", limit: 100 });
    return stored.map(({ value }) => {
      const read = readRecord(storedValue(value));
      if (read.kind !== "record") throw new Error(`is ${read.kind}`);
      return read.record;
    });
  }

  async function reasonOfNext(store: LedgerStore, maxInFlight: number): Promise<string> {
    const record = aRecord({
      recordId: "next",
      workId: "next",
      accountId: own,
      taskId: null,
      status: "waiting",
    });
    await store.claim({ row: rowOf(record), leaseTtlMs: 15_000 });
    const admission = await store.admit({
      after: rowOf({ ...record, status: "unresolved", revision: 2 }),
      expectedRevision: 1,
      slotId: "slot",
      maxCreates: 100,
      windowMs: 60_000,
      maxInFlight,
      lapseMs: 30_000,
      budget: null,
    });
    return admission.kind === "held" ? admission.reason : admission.kind;
  }

  const summaryOf = (records: readonly TaskRecord[]) =>
    records.map(
      ({ input, status, attempt }) => `${/"prompt":"(.*?)"/.exec(input ?? "")?.[1]}: ${status} ${attempt}`,
    );

  const OWN = [
    "Waiting: waiting 1",
    "Unresolved: unresolved 1",
    "Queued: queued 1",
    "Failed twice: failed 2",
  ];
  const ALL_OWN = [...OWN, "Saved: succeeded 1"];

  it("is found with every record in its account, what it spent and what is in flight", async () => {
    const store = open();
    const records = await recordsOf(store);
    expect(summaryOf(records)).toEqual(ALL_OWN);
    expect(summaryOf(await recordsOf(open(others)))).toEqual(["Another key's: succeeded 1"]);
    const saved = records.find(({ status }) => status === "succeeded");
    expect(await store.ofPath(saved?.files[0]?.path ?? "")).toHaveLength(1);
    expect(await store.ofTask(saved?.taskId ?? "")).toHaveLength(1);
    expect(await store.ofWork(saved?.workId ?? "")).toHaveLength(1);
    expect(await store.list({ accounts: "own", openOnly: true, limit: 9 })).toHaveLength(1);
    const charged = saved?.billing?.charged_credits ?? Number.NaN;
    expect(await store.spentCredits(DAY_MS)).toBe(2 * RESERVED_CREDITS + charged);
    // The accepted one and the one without an answer; the latter's place lapses.
    expect(await reasonOfNext(store, 2)).toBe("in_flight");
    skewMs += 10 * 60_000;
    expect(await reasonOfNext(store, 1)).toBe("in_flight");
    expect(await reasonOfNext(store, 2)).toBe("admitted");
  });

  it("is refused to version 0.1.0 from then on, and kept under its old names for a while", async () => {
    await open().check();
    expect(await send(["GET", VERSION_KEY])).toBe("2");
    const [, key = ""] = left.commands.find(([, name]) => name?.startsWith(OLD_RECORD)) ?? [];
    expect(await send(["TTL", key])).toBeGreaterThan(29 * 24 * 60 * 60);
    expect(await send(["TTL", VERSION_KEY])).toBe(-1);
  });

  it("is taken over once by many who come at once", async () => {
    const stores = Array.from({ length: 5 }, () => open());
    const lists = await Promise.all(stores.map(recordsOf));
    for (const records of lists) expect(summaryOf(records)).toEqual(ALL_OWN);
    expect(logged.filter((line) => line.includes("took over 6 records"))).toHaveLength(1);
    expect(await open().spentCredits(DAY_MS)).toBe(2 * RESERVED_CREDITS + 10);
  });

  it("is taken over to the end where somebody was stopped in the middle", async () => {
    const half = left.commands.filter(([, key]) => !key?.startsWith(`${OLD_RECORD}2`));
    await send(["FLUSHALL"], ...half);
    expect(summaryOf(await recordsOf(open()))).toHaveLength(4);
    // As it stands when a process dies: the version says so, and the lock is its own until it expires.
    const lock = ["SET", "audio-generation-mcp:2:{take-over}:lock", "somebody", "PX", "400"];
    await send(...left.commands, ["SET", VERSION_KEY, "1.5"], lock);
    expect(summaryOf(await recordsOf(open()))).toEqual(ALL_OWN);
    expect(await open().spentCredits(DAY_MS)).toBe(2 * RESERVED_CREDITS + 10);
  });

  it("keeps what has changed since, when it is taken over again", async () => {
    const store = open();
    const [waiting] = await recordsOf(store);
    if (waiting === undefined) throw new Error("there is none");
    const { recordId, revision } = waiting;
    const after = rowOf({ ...waiting, fileName: "changed", revision: revision + 1 });
    await store.write({ accountId: own, recordId, expectedRevision: revision, after });
    await send(["SET", VERSION_KEY, "1.5"]);
    const [again] = await recordsOf(open());
    expect(again).toMatchObject({ recordId, fileName: "changed" });
  });

  it("sets damaged records aside, and leaves those of a newer version", async () => {
    const newer = JSON.stringify({ value: { version: 3, recordId: "new" } });
    await send(["SET", `${OLD_RECORD}odd`, "not JSON"], ["SET", `${OLD_RECORD}new`, newer]);
    expect(summaryOf(await recordsOf(open()))).toEqual(ALL_OWN);
    const lines = logged.join("");
    const aside = /set aside as (set-aside:odd:\d+)/.exec(lines)?.[1] ?? "";
    expect(await open().keyv.get(aside)).toBe("not JSON");
    expect(lines).toContain("the record new has version 3 and was left where it is");
    expect(await send(["GET", `${OLD_RECORD}new`])).toBe(newer);
    expect(await send(["TTL", `${OLD_RECORD}new`])).toBe(-1);
  });

  it("is waited for a while, and then said to be under way", async () => {
    await send(["SET", "audio-generation-mcp:2:{take-over}:lock", "somebody", "PX", "60000"]);
    const store = open();
    await vi.waitFor(() => expect(store.check()).rejects.toThrow("is being taken over"), { timeout: 20_000 });
  });
});

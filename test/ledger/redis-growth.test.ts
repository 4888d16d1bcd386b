/** What the shared store keeps for itself stays small, however long it is used, and each account is in one slot. */
import { createClient } from "@keyv/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { rowOf, type TaskRecord } from "../../src/ledger/record.ts";
import { openRedisStore } from "../../src/ledger/redis/redis-store.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { aRecord } from "./a-record.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./store-suite/desk.ts";

const PREFIX = "audio-generation-mcp:2:";
const ORIGIN = "https://service.example";

describe.skipIf(whyNoRedis() !== undefined)("in Redis", () => {
  let server: RedisServer;
  let client: Awaited<ReturnType<typeof connect>>;
  let skewMs = 0;
  const clock = new HandClock();

  const connect = () => createClient({ url: server.url }).connect();

  beforeAll(async () => {
    server = await RedisServer.start();
    client = await connect();
  });
  afterAll(async () => {
    client.destroy();
    await server.remove();
  });
  beforeEach(async () => void (await client.flushAll()));

  function open(accountId: string, machineId = "machine", origin = ORIGIN): LedgerStore {
    const log = createLog("silent", (text) => text);
    const identity = { origin, accountId, holder: "holder" };
    const shared = { storeUrl: server.url, log, clock, machineId, skewMs: () => skewMs };
    const store = openRedisStore({ ...shared, identity });
    onTestFinished(() => store.close());
    return store;
  }

  function advance(ms: number): void {
    skewMs += ms;
    clock.skip(ms);
  }

  async function put(store: LedgerStore, changes: Partial<TaskRecord>): Promise<TaskRecord> {
    const record = aRecord(changes);
    const { accountId, recordId, revision } = record;
    const expectedRevision = revision === 1 ? null : revision - 1;
    const answer = await store.write({ accountId, recordId, expectedRevision, after: rowOf(record) });
    expect(answer.written).toBe(true);
    return record;
  }

  const limits = { maxCreates: 1000, windowMs: MINUTE_MS, maxInFlight: 1000, lapseMs: 30_000, budget: null };

  it("all keys of an account are in one slot of a cluster, and nothing is left of a record that is removed", async () => {
    const store = open("account");
    const first = await put(store, { status: "waiting", taskId: null });
    const files = [{ path: "/a.mp3", sizeBytes: 1, sha256: "0", savedAtMs: 1, isSound: true }];
    const sent = { ...first, revision: 2, status: "unresolved" as const, spend: { credits: 150, atMs: 1 } };
    await store.admit({ ...limits, after: rowOf(sent), expectedRevision: 1, slotId: "slot" });
    await put(store, { ...sent, revision: 3, status: "succeeded", taskId: "first", files });
    await put(store, { ...sent, revision: 4, status: "succeeded", taskId: "second", files: [] });
    await store.admitRead({ slotId: "read", maxReads: 60, windowMs: MINUTE_MS });
    await store.pause("reads", 1000);
    await store.signOfLife(["record-1"]);
    await store.check();
    const keys = await client.keys("*");
    const own = keys.filter((key) => key.startsWith(`${PREFIX}{account}:`));
    const rest = keys.filter((key) => !own.includes(key));
    expect(rest.sort()).toEqual([
      expect.stringMatching(/{machine .*}:accounts$/),
      "audio-generation-mcp:{ledger}:version",
    ]);
    expect(own.some((key) => key.endsWith("task:second"))).toBe(true);
    expect(own.some((key) => key.endsWith("task:first") || key.includes(":path:"))).toBe(false);

    const gone = { accountId: "account", recordId: "record-1", expectedRevision: 4, after: null };
    expect(await store.write(gone)).toEqual({ written: true });
    const kinds = ["alive", "check", "creates", "pauses", "reads"].map(
      (name) => `${PREFIX}{account}:${name}`,
    );
    expect((await client.keys(`${PREFIX}{account}*`)).sort()).toEqual(kinds);
    for (const key of kinds) expect(await client.pTTL(key)).toBeGreaterThan(0);
  });

  it("sums of what was spent are kept for two days", async () => {
    const store = open("account");
    for (let hour = 0; hour < 240; hour += 1) {
      const spend = { credits: 10, atMs: clock.wallMs() };
      await put(store, {
        recordId: `r${hour}`,
        workId: `w${hour}`,
        taskId: null,
        status: "succeeded",
        spend,
      });
      advance(HOUR_MS);
    }
    // The quarter of an hour in which the window begins counts as a whole.
    expect(await store.spentCredits(DAY_MS)).toBe(240);
    expect(await client.hLen(`${PREFIX}{account}:spend-parts`)).toBeLessThan(14);
    expect(await client.hLen(`${PREFIX}{account}:spend`)).toBeLessThan(14 * 24);
    expect(await client.pTTL(`${PREFIX}{account}:spend`)).toBeGreaterThan(2 * DAY_MS);
  });

  it("slots and places in flight that are over are forgotten by the next create", async () => {
    const store = open("account");
    for (let at = 0; at < 5; at += 1) {
      const record = await put(store, {
        recordId: `r${at}`,
        workId: `w${at}`,
        taskId: null,
        status: "waiting",
      });
      const after = rowOf({ ...record, revision: 2, status: "unresolved" });
      const request = { ...limits, after, expectedRevision: 1, slotId: `slot ${at}` };
      expect(await store.admit(request)).toEqual({ kind: "admitted" });
      if (at < 4) advance(3 * HOUR_MS);
    }
    expect(await client.hKeys(`${PREFIX}{account}:creates`)).toEqual(["slot 4"]);
    expect(await client.hKeys(`${PREFIX}{account}:flight`)).toEqual(["r4"]);
    expect(await client.pTTL(`${PREFIX}{account}:flight`)).toBeGreaterThan(2 * HOUR_MS);
  });

  it("lists keep the newest ten thousand", async () => {
    const store = open("account");
    const rows = Array.from({ length: 10_050 }, (_, at) =>
      aRecord({ recordId: `r${at}`, workId: `w${at}`, taskId: null, status: "waiting", createdAtMs: at }),
    );
    await store.check();
    for (let from = 0; from < rows.length; from += 1000) {
      const claims = rows
        .slice(from, from + 1000)
        .map((row) => store.claim({ row: rowOf(row), leaseTtlMs: 1 }));
      await Promise.all(claims);
    }
    expect(await client.zCard(`${PREFIX}{account}:newest`)).toBe(10_000);
    expect(await client.zCard(`${PREFIX}{account}:unsettled`)).toBe(10_000);
    const [newest] = await store.list({ accounts: "own", status: "waiting", limit: 1 });
    expect(newest?.recordId).toBe("r10049");
    // Walked from one end to the other, in pages.
    expect(await store.list({ accounts: "own", status: "failed", limit: 5 })).toEqual([]);
    expect(await store.ofWork("w0")).toHaveLength(1);
  });

  it("a machine knows the accounts that were used on it at this origin, and only the latest ten", async () => {
    for (let at = 0; at < 12; at += 1) {
      const accountId = `account-${at}`;
      await put(open(accountId), { accountId, recordId: `r${at}`, taskId: "task" });
    }
    const store = open("account-0");
    const found = await store.ofTask("task");
    expect(found.map(({ accountId }) => accountId)).toEqual([
      "account-0",
      ...Array.from({ length: 9 }, (_, at) => `account-${11 - at}`),
    ]);
    expect(await store.list({ accounts: "all", limit: 100 })).toHaveLength(10);
    expect(await open("account-0", "elsewhere").ofTask("task")).toHaveLength(1);
    expect(await open("account-0", "machine", "https://other.example").ofTask("task")).toHaveLength(1);
    const [key = ""] = (await client.keys(`${PREFIX}{machine*`)).filter((name) => name.endsWith(":accounts"));
    expect(await client.pTTL(key)).toBeGreaterThan(89 * DAY_MS);
  });
});

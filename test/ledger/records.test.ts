/** Owns the tests of records: what comes back, and what becomes of one that is damaged or newer, on both stores. */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "@keyv/redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { openStore } from "../../src/ledger/open-store.ts";
import type { Store } from "../../src/ledger/store.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";
import { RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { scratchFolder } from "../support/scratch.ts";
import { aRecord } from "./a-record.ts";

/** A store, and what stands in it under a record's id, as raw text. */
interface RawStore {
  readonly store: Store;
  readonly logged: string[];
  writeRaw(recordId: string, text: string): Promise<void>;
  /** Raw texts by the part of their key after the namespace. */
  readRaw(): Promise<Map<string, string>>;
}

function recordsSuite(name: string, open: () => Promise<RawStore>): void {
  describe(`records over ${name}`, () => {
    it("come back as they were, singly and together, and can be deleted", async () => {
      const { store } = await open();
      const first = aRecord();
      const second = aRecord({ recordId: "record-2", status: "waiting", taskId: null });
      await store.records.set(first);
      await store.records.set(second);
      await store.records.set({ ...first, status: "succeeded" });
      expect(await store.records.get("record-1")).toEqual({ ...first, status: "succeeded" });
      expect(await store.records.getMany(["record-2", "none", "record-1"])).toEqual([
        second,
        undefined,
        { ...first, status: "succeeded" },
      ]);
      expect(await store.records.getMany([])).toEqual([]);
      await store.records.delete("record-1");
      expect(await store.records.get("record-1")).toBeUndefined();
    });

    it("are plain JSON in the store, without an expiry", async () => {
      const { store, readRaw } = await open();
      await store.records.set(aRecord());
      const text = (await readRaw()).get("record-1");
      expect(JSON.parse(text ?? "")).toEqual({ value: aRecord() });
    });

    it.each([
      ["no JSON", '{"value":{"version":1,"recordId":"record-1"'],
      ["JSON of something else", "[1,2,3]"],
      ["a record with a field lost", JSON.stringify({ value: { ...aRecord(), status: undefined } })],
      ["another record", JSON.stringify({ value: aRecord({ recordId: "record-9" }) })],
    ])("damaged to %s are set aside, told, and never read as no record", async (_, text) => {
      const { store, writeRaw, readRaw, logged } = await open();
      await store.records.set(aRecord({ recordId: "record-2" }));
      await writeRaw("record-1", text);
      const failure = await failureOf(store.records.getMany(["record-1", "record-2"]));
      expect(failure.code).toBe("store_unavailable");
      expect(failure.message).toContain("set aside");
      expect(failure.remedy).toContain("same idempotency key");
      expect(logged.join()).toContain("set-aside:record-1");
      const raw = [...(await readRaw())].filter(([key]) => key.startsWith("set-aside:record-1:"));
      expect(raw).toHaveLength(1);
      // Everything that was left of it is still there to be read by a person.
      expect(raw[0]?.[1]).toContain(text.slice(10, 20).replaceAll('"', '\\"'));
      expect(await store.records.get("record-1")).toBeUndefined();
      expect(await store.records.get("record-2")).toEqual(aRecord({ recordId: "record-2" }));
    });

    it("of a newer version are left as they are, and the version is named", async () => {
      const { store, writeRaw, readRaw } = await open();
      const newer = JSON.stringify({ value: { version: 2, whatever: true } });
      await writeRaw("record-1", newer);
      const failure = await failureOf(store.records.get("record-1"));
      expect(failure.code).toBe("store_unavailable");
      expect(failure.message).toContain("newer version");
      expect((await readRaw()).get("record-1")).toBe(newer);
    });

    it("that carry an expiry are not deleted by it", async () => {
      const { store, writeRaw } = await open();
      await writeRaw("record-1", JSON.stringify({ value: aRecord(), expires: 1 }));
      expect(await store.records.get("record-1")).toEqual(aRecord());
    });
  });
}

const newLog = (lines: string[]) =>
  createLog(
    "warn",
    (text) => text,
    (line) => lines.push(line),
  );

recordsSuite("SQLite", async () => {
  const stateDir = scratchFolder();
  const logged: string[] = [];
  const store = await openStore({ stateDir, storeUrl: null, log: newLog(logged), clock: systemClock });
  await store.check();
  const db = new DatabaseSync(join(stateDir, "ledger.sqlite"));
  onTestFinished(async () => {
    db.close();
    await store.close();
  });
  return {
    store,
    logged,
    async writeRaw(recordId, text) {
      db.prepare("INSERT OR REPLACE INTO kv VALUES (?, ?)").run(`record:${recordId}`, text);
    },
    async readRaw() {
      const rows = db.prepare("SELECT key, value FROM kv").all();
      return new Map(
        rows.map(({ key, value }) => [String(key).replace("record:", ""), String(value)] as const),
      );
    },
  };
});

describe.skipIf(whyNoRedis() !== undefined)("with a Redis server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  recordsSuite("Redis", async () => {
    const logged: string[] = [];
    const store = await openStore({
      stateDir: "/nowhere",
      storeUrl: server.url,
      log: newLog(logged),
      clock: systemClock,
    });
    const client = createClient({ url: server.url });
    await client.connect();
    await client.flushAll();
    onTestFinished(async () => {
      client.destroy();
      await store.close();
    });
    const prefix = "audio-generation-mcp:record:";
    return {
      store,
      logged,
      async writeRaw(recordId, text) {
        await client.set(prefix + recordId, text);
      },
      async readRaw() {
        const raw = new Map<string, string>();
        for (const key of await client.keys(`${prefix}*`)) {
          raw.set(key.replace(prefix, ""), (await client.get(key)) ?? "");
        }
        return raw;
      },
    };
  });
});

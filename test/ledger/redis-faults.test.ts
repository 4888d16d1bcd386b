/** Owns the tests of a shared store that is away, silent, closed to us or newer: errors in bounded time, no secrets. */
import { once } from "node:events";
import { createServer } from "node:net";
import { createClient } from "@keyv/redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { openRedisStore } from "../../src/ledger/redis/redis-store.ts";
import type { Store } from "../../src/ledger/store.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";
import { freePort, RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { aRecord } from "./a-record.ts";

/** Connecting and one command together may take five seconds; the rest is a slow machine's. */
const BOUND_MS = 8_000;

function open(storeUrl: string, logged: string[] = []): Store {
  const log = createLog(
    "debug",
    (text) => text,
    (line) => logged.push(line),
  );
  const store = openRedisStore({ storeUrl, log, clock: systemClock });
  onTestFinished(() => store.close());
  return store;
}

async function expectAway(call: Promise<unknown>): Promise<void> {
  const startedAtMs = performance.now();
  const failure = await failureOf(call);
  expect(failure.code).toBe("store_unavailable");
  expect(performance.now() - startedAtMs).toBeLessThan(BOUND_MS);
}

describe("an address that is none", () => {
  it.each(["http://host", "redis//host", "redis://host/a/b", "redis://user:hunter2@host/x"])(
    "%s is a matter of configuration",
    (url) => {
      expect(() => open(url)).toThrow(
        expect.objectContaining({
          code: "configuration_error",
          message: expect.not.stringContaining("hunter2"),
        }),
      );
    },
  );
});

describe("a server that is not there", () => {
  it("is told at once, without the credentials", async () => {
    const logged: string[] = [];
    const store = open(`redis://somebody:hunter2@127.0.0.1:${await freePort()}/3`, logged);
    for (const call of [store.records.get("a"), store.check(), store.coordinator.heartbeat("h")]) {
      const failure = await failureOf(call);
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
      expect(`${failure.message} ${failure.remedy}`).not.toMatch(/hunter2|somebody/);
      expect(failure.message).toContain("127.0.0.1");
    }
    expect(logged.join()).not.toContain("hunter2");
    expect(store.description).not.toMatch(/hunter2|somebody/);
    expect(store.description).toContain("127.0.0.1");
  });

  it("is told in time where something listens that never answers", async () => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port was given");
    await expectAway(open(`redis://127.0.0.1:${address.port}`).check());
  });
});

describe.skipIf(whyNoRedis() !== undefined)("a server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  it("that goes and comes back is used again by the next call, with all that was acknowledged", async () => {
    const store = open(server.url);
    await store.records.set(aRecord());
    await server.kill();
    await expectAway(store.records.get("record-1"));
    await expectAway(store.records.set(aRecord()));
    await expectAway(store.coordinator.recordsOfWork("w"));
    await server.start();
    expect(await store.records.get("record-1")).toEqual(aRecord());
    await store.coordinator.heartbeat("h");
    await store.check();
  });

  it("that stops answering is given up in time, and used again when it does", async () => {
    const store = open(server.url);
    await store.check();
    server.freeze();
    await expectAway(Promise.all([store.records.get("record-1"), store.coordinator.heartbeat("h")]));
    server.thaw();
    await store.check();
  });

  it("that was laid out by a newer version is refused", async () => {
    const client = createClient({ url: `${server.url}/5` });
    await client.connect();
    await client.set("audio-generation-mcp:{ledger}:version", "2");
    client.destroy();
    const failure = await failureOf(open(`${server.url}/5`).check());
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain("newer version");
  });

  it("that wants another password says so, and not which was tried", async () => {
    const closed = await RedisServer.start({ password: "right-one" });
    onTestFinished(() => closed.remove());
    const wrong = open(`redis://:hunter2@127.0.0.1:${closed.port}`);
    const failure = await failureOf(wrong.check());
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.remedy).toContain("password");
    expect(JSON.stringify([failure.message, failure.remedy])).not.toContain("hunter2");
    const right = open(`redis://:right-one@127.0.0.1:${closed.port}`);
    await right.check();
    expect(right.description).not.toContain("right-one");
  });

  it("is not used after the store was closed", async () => {
    const store = open(server.url);
    await store.check();
    await store.close();
    await store.close();
    await expectAway(store.check());
  });
});

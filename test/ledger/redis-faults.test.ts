/** A shared store that is away, silent, closed to us, full or newer: errors in bounded time, no secrets. */
import { once } from "node:events";
import { createServer } from "node:net";
import { createClient } from "@keyv/redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { rowOf } from "../../src/ledger/record.ts";
import { connectLink } from "../../src/ledger/redis/redis-link.ts";
import { openRedisStore } from "../../src/ledger/redis/redis-store.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";
import { selfSigned } from "../support/certificates.ts";
import { startRedirector } from "../support/redirector.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { freePort, RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { aRecord } from "./a-record.ts";

/** Connecting and one command together may take five seconds; the rest is a slow machine's. */
const BOUND_MS = 8_000;
const KEY = "account/record-1";

function open(storeUrl: string, logged: string[] = []): LedgerStore {
  const log = createLog(
    "debug",
    (text) => text,
    (line) => logged.push(line),
  );
  const identity = { origin: "https://service.example", accountId: "account", holder: "holder" };
  const store = openRedisStore({ storeUrl, log, clock: systemClock, identity, machineId: "machine" });
  onTestFinished(() => store.close());
  return store;
}

const claim = (store: LedgerStore) => store.claim({ row: rowOf(aRecord()), leaseTtlMs: 15_000 });

async function command(url: string, ...words: string[]): Promise<unknown> {
  const client = await createClient({ url }).connect();
  try {
    return await client.sendCommand(words);
  } finally {
    client.destroy();
  }
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
    for (const call of [store.keyv.get(KEY), store.check(), store.signOfLife([])]) {
      const failure = await failureOf(call);
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
      expect(`${failure.message} ${failure.remedy}`).not.toMatch(/hunter2|somebody/);
      expect(failure.message).toContain("127.0.0.1");
    }
    expect(logged.join()).not.toMatch(/hunter2|somebody/);
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
    await claim(store);
    await server.kill();
    await expectAway(store.keyv.get(KEY));
    await expectAway(claim(store));
    await expectAway(store.ofWork("work-1"));
    await server.start();
    expect(await store.keyv.get(KEY)).toEqual(aRecord());
    expect(await store.signOfLife(["record-1"])).toEqual([]);
    await store.check();
  });

  it("that stops answering is given up in time, and used again when it does", async () => {
    const store = open(server.url);
    await store.check();
    server.freeze();
    await expectAway(Promise.all([store.keyv.get(KEY), store.signOfLife([])]));
    server.thaw();
    await store.check();
  });

  it("that forgot its scripts is taught them again", async () => {
    const store = open(server.url);
    await claim(store);
    await command(server.url, "SCRIPT", "FLUSH");
    expect((await claim(store)).holder).toBe("holder");
  });

  it("that was laid out by a newer version is refused", async () => {
    await command(`${server.url}/5`, "SET", "audio-generation-mcp:{ledger}:version", "3");
    const failure = await failureOf(open(`${server.url}/5`).check());
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain("newer version");
  });

  it("that wants another password says so, and not which was tried", async () => {
    const closed = await RedisServer.start({ password: "right-one" });
    onTestFinished(() => closed.remove());
    const logged: string[] = [];
    for (const credentials of [":hunter2@", ""]) {
      const failure = await failureOf(open(`redis://${credentials}127.0.0.1:${closed.port}`, logged).check());
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
      expect(failure.remedy).toContain("password");
      expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
    }
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

  it("is warned of when it may evict what it was told", async () => {
    const store = open(server.url);
    const settings = async (policy: string, most: string): Promise<void> => {
      await command(server.url, "CONFIG", "SET", "maxmemory-policy", policy);
      await command(server.url, "CONFIG", "SET", "maxmemory", most);
    };
    expect(await store.check()).toEqual([]);
    await settings("allkeys-lru", "1gb");
    expect(await store.check()).toEqual([
      "Redis may evict records (maxmemory-policy allkeys-lru): set it to noeviction.",
    ]);
    await settings("allkeys-lru", "0");
    expect(await store.check()).toEqual([]);
    await settings("noeviction", "1gb");
    expect(await store.check()).toEqual([]);
    await command(server.url, "CONFIG", "SET", "maxmemory", "0");
  });

  it("that forbids INFO is used all the same", async () => {
    const rules = ["on", ">secret-one", "~audio-generation-mcp:*", "+@all", "-info", "-config"];
    await command(server.url, "ACL", "SETUSER", "guest", ...rules);
    const store = open(`redis://guest:secret-one@127.0.0.1:${server.port}`);
    expect(await store.check()).toEqual([]);
    await claim(store);
  });

  it("that is full says so, and takes nothing by half", async () => {
    const full = await RedisServer.start();
    onTestFinished(() => full.remove());
    const store = open(full.url);
    await store.check();
    await command(full.url, "CONFIG", "SET", "maxmemory", "1");
    const failure = await failureOf(claim(store));
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
    expect(failure.message).toContain("is full");
    expect(failure.remedy).toContain("maxmemory");
    await command(full.url, "CONFIG", "SET", "maxmemory", "0");
    expect(await store.keyv.get(KEY)).toBeUndefined();
    expect(await store.list({ accounts: "own", limit: 5 })).toEqual([]);
    expect((await claim(store)).holder).toBe("holder");
  });

  it("that has become a replica is left for the new master behind the same address, within the same call", async () => {
    // A replica gets its copy at once.
    const old = await RedisServer.start({ more: ["--repl-diskless-sync-delay", "0"] });
    const next = await RedisServer.start();
    const address = await startRedirector(old.port);
    onTestFinished(async () => {
      await address.close();
      await Promise.all([old.remove(), next.remove()]);
    });
    const store = open(`redis://127.0.0.1:${address.port}`);
    await claim(store);
    await command(next.url, "REPLICAOF", "127.0.0.1", String(old.port));
    await vi.waitFor(
      async () => {
        const stored = await command(next.url, "EXISTS", "audio-generation-mcp:2:{account}:record:record-1");
        expect(stored).toBe(1);
      },
      { timeout: 15_000 },
    );
    await command(next.url, "REPLICAOF", "NO", "ONE");
    await command(old.url, "REPLICAOF", "127.0.0.1", String(next.port));
    address.leadTo(next.port);
    expect(await store.signOfLife(["record-1"])).toEqual([]);
    expect(await store.keyv.get(KEY)).toEqual(aRecord());
  });
});

describe.skipIf(whyNoRedis() !== undefined)("TLS", () => {
  it("is never unsaid: a wrong certificate is refused whatever the environment says", async () => {
    const certificate = selfSigned();
    const server = await RedisServer.start({ tls: certificate });
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      certificate.remove();
      await server.remove();
    });
    const logged: string[] = [];
    const failure = await failureOf(open(server.url.replace("//", "//u:hunter2@"), logged).check());
    expect(failure).toMatchObject({ code: "store_unavailable" });
    expect(failure.message).toMatch(/self-signed certificate/);
    expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
  });
});

describe.skipIf(whyNoRedis() !== undefined)("a cluster", () => {
  it("of which a server is away says so in time, and is used again when it is back", async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.remove());
    const store = open(cluster.url);
    await claim(store);
    await Promise.all(cluster.servers.map((server) => server.kill()));
    await expectAway(store.keyv.get(KEY));
    await Promise.all(cluster.servers.map((server) => server.start()));
    await vi.waitFor(async () => expect(await store.keyv.get(KEY)).toEqual(aRecord()), { timeout: 20_000 });
    expect(await store.signOfLife(["record-1"])).toEqual([]);
  });

  it("goes on where the server that the address names is gone for good and a replica has taken its place", async () => {
    const cluster = await startCluster({ hasReplicas: true, nodeTimeoutMs: 1000 });
    onTestFinished(() => cluster.remove());
    const [named] = cluster.servers;
    const store = open(cluster.url);
    await claim(store);
    await cluster.copied();
    // It does not even refuse, as a machine that is gone.
    named?.freeze();
    await vi.waitFor(async () => expect(await store.keyv.get(KEY)).toEqual(aRecord()), { timeout: 20_000 });
    await vi.waitFor(async () => expect(await store.check()).toEqual([]), { timeout: 20_000 });
    // And once more: what is remembered is not lost by its use.
    await cluster.servers[1]?.kill();
    await vi.waitFor(async () => expect(await store.check()).toEqual([]), { timeout: 20_000 });
    await vi.waitFor(async () => expect(await store.keyv.get(KEY)).toEqual(aRecord()), { timeout: 20_000 });
  });

  it("is connected to again without much memory, however often its servers come and go", async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.remove());
    const url = new URL(cluster.url);
    const nobody = { onError: () => undefined, onOpen: () => undefined };
    const connect = () => connectLink({ url, connectMs: 5000, ...nobody });
    (await connect()).destroy();
    const takenMiB: number[] = [];
    for (let times = 0; times < 8; times += 1) {
      const before = process.memoryUsage().heapUsed;
      const link = await connect();
      takenMiB.push((process.memoryUsage().heapUsed - before) / 2 ** 20);
      link.destroy();
    }
    expect(Math.max(...takenMiB)).toBeLessThan(8);
  });
});

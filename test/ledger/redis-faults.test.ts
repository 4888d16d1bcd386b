/** A shared store that is away, silent, closed to us, full or of another layout: errors in bounded time, no secrets. */
import { once } from "node:events";
import { createServer } from "node:net";
import { createClient } from "@keyv/redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { failureOf } from "../api/failure.ts";
import { selfSigned } from "../support/certificates.ts";
import { startRedirector } from "../support/redirector.ts";
import { freePort, RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { aRecord } from "./a-record.ts";
import { claim, expectAway, KEY, openShared } from "./shared-store.ts";

async function command(url: string, ...words: string[]): Promise<unknown> {
  const client = await createClient({ url }).connect();
  try {
    return await client.sendCommand(words);
  } finally {
    client.destroy();
  }
}

describe("an address that is none", () => {
  it.each(["http://host", "redis//host", "redis://host/a/b", "redis://user:hunter2@host/x"])(
    "%s is a matter of configuration",
    (url) => {
      expect(() => openShared(url)).toThrow(
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
    const store = openShared(`redis://somebody:hunter2@127.0.0.1:${await freePort()}/3`, logged);
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
    await expectAway(openShared(`redis://127.0.0.1:${address.port}`).check());
  });
});

describe.skipIf(whyNoRedis() !== undefined)("a server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  it("that goes and comes back is used again by the next call, with all that was acknowledged", async () => {
    const store = openShared(server.url);
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
    const store = openShared(server.url);
    await store.check();
    server.freeze();
    await expectAway(Promise.all([store.keyv.get(KEY), store.signOfLife([])]));
    server.thaw();
    await store.check();
  });

  it("that forgot its scripts is taught them again", async () => {
    const store = openShared(server.url);
    await claim(store);
    await command(server.url, "SCRIPT", "FLUSH");
    expect((await claim(store)).holder).toBe("holder");
  });

  it.each(["1", "3"])("of layout %s is refused", async (layout) => {
    await command(`${server.url}/5`, "SET", "audio-generation-mcp:{ledger}:version", layout);
    const failure = await failureOf(openShared(`${server.url}/5`).check());
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain("another version");
  });

  it("that wants another password says so, and not which was tried", async () => {
    const closed = await RedisServer.start({ password: "right-one" });
    onTestFinished(() => closed.remove());
    const logged: string[] = [];
    for (const credentials of [":hunter2@", ""]) {
      const failure = await failureOf(
        openShared(`redis://${credentials}127.0.0.1:${closed.port}`, logged).check(),
      );
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
      expect(failure.remedy).toContain("password");
      expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
    }
    const right = openShared(`redis://:right-one@127.0.0.1:${closed.port}`);
    await right.check();
    expect(right.description).not.toContain("right-one");
  });

  it("is not used after the store was closed", async () => {
    const store = openShared(server.url);
    await store.check();
    await store.close();
    await store.close();
    await expectAway(store.check());
  });

  it("is warned of when it may evict what it was told", async () => {
    const store = openShared(server.url);
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
    const store = openShared(`redis://guest:secret-one@127.0.0.1:${server.port}`);
    expect(await store.check()).toEqual([]);
    await claim(store);
  });

  it("that is full says so, and takes nothing by half", async () => {
    const full = await RedisServer.start();
    onTestFinished(() => full.remove());
    const store = openShared(full.url);
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
    const store = openShared(`redis://127.0.0.1:${address.port}`);
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
    const failure = await failureOf(openShared(server.url.replace("//", "//u:hunter2@"), logged).check());
    expect(failure).toMatchObject({ code: "store_unavailable" });
    expect(failure.message).toMatch(/self-signed certificate/);
    expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
  });
});

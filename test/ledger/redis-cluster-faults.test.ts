/** A Redis Cluster whose servers go, come back and are replaced. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { connectLink } from "../../src/ledger/redis/redis-link.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { whyNoRedis } from "../support/redis-server.ts";
import { aRecord } from "./a-record.ts";
import { claim, expectAway, KEY, openShared } from "./shared-store.ts";

describe.skipIf(whyNoRedis() !== undefined)("a cluster", () => {
  it("of which a server is away says so in time, and is used again when it is back", async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.remove());
    const store = openShared(cluster.url);
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
    const store = openShared(cluster.url);
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

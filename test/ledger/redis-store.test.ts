/** Runs the store's suite over a Redis server and over a Redis Cluster. */
import { describe } from "vitest";
import type { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { openRedisStore } from "../../src/ledger/redis/redis-store.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { HOUR_MS } from "./store-suite/desk.ts";
import { type StoreBench, storeSuite } from "./store-suite.ts";

const log = createLog("silent", (text) => text);

async function benchOn(server: { readonly url: string; remove(): Promise<void> }): Promise<StoreBench> {
  const clock = new HandClock();
  const stores: LedgerStore[] = [];
  let skewMs = 0;
  return {
    seesAllAccounts: false,
    open: (identity) => {
      const shared = { storeUrl: server.url, log, clock, machineId: "machine", skewMs: () => skewMs };
      const store = openRedisStore({ ...shared, identity });
      stores.push(store);
      return store;
    },
    advance: (ms) => {
      skewMs += ms;
      clock.skip(ms);
    },
    putBack: () => {
      skewMs -= 1000 * HOUR_MS;
    },
    wallMs: () => clock.wallMs(),
    close: async () => {
      for (const store of stores) await store.close();
      await server.remove();
    },
  };
}

describe.skipIf(whyNoRedis() !== undefined)("with Redis", () => {
  storeSuite("a Redis server", async () => benchOn(await RedisServer.start()));
  storeSuite("a Redis Cluster", async () => benchOn(await startCluster()));
});

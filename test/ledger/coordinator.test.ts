/** Owns running the coordination suite over both stores. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { openRedisStore } from "../../src/ledger/redis/redis-store.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/sqlite-store.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { coordinatorSuite } from "./coordinator-suite.ts";

const log = createLog("silent", (text) => text);
const HOUR_MS = 60 * 60 * 1000;

coordinatorSuite("SQLite", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "agm-ledger-"));
  const clock = new HandClock();
  const store = openSqliteStore({ stateDir, log, clock });
  return {
    coordinator: store.coordinator,
    advance: (ms) => clock.skip(ms),
    putBack: () => clock.reboot(),
    close: async () => {
      await store.close();
      rmSync(stateDir, { recursive: true });
    },
  };
});

describe.skipIf(whyNoRedis() !== undefined)("with a Redis server", () => {
  coordinatorSuite("Redis", async () => {
    const server = await RedisServer.start();
    let skewMs = 0;
    const store = openRedisStore({ storeUrl: server.url, log, clock: systemClock, skewMs: () => skewMs });
    return {
      coordinator: store.coordinator,
      advance: (ms) => {
        skewMs += ms;
      },
      putBack: () => {
        skewMs -= 1000 * HOUR_MS;
      },
      close: async () => {
        await store.close();
        await server.remove();
      },
    };
  });
});

describe("the wall clock", () => {
  it("may be set by a day without a window noticing, and a budget then counts more, not less", async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "agm-ledger-"));
    const clock = new HandClock();
    const { coordinator, close } = openSqliteStore({ stateDir, log, clock });
    const ask = (recordId: string) =>
      coordinator.admitCreate({
        accountId: "a",
        origin: "o",
        recordId,
        attempt: 1,
        holder: "h",
        maxCreates: 1,
        windowMs: 60_000,
        maxInFlight: 5,
        lapseMs: 30_000,
        credits: 150,
        budget: { credits: 300, windowMs: 24 * HOUR_MS },
      });
    expect(await ask("first")).toMatchObject({ admitted: true });
    clock.moveWall(20 * HOUR_MS);
    expect(await ask("second")).toMatchObject({ reason: "rate" });
    await clock.advance(60_001);
    expect(await ask("second")).toMatchObject({ admitted: true });
    clock.moveWall(-48 * HOUR_MS);
    await clock.advance(60_001);
    expect(await ask("third")).toMatchObject({ reason: "budget", countedCredits: 300 });
    await close();
    rmSync(stateDir, { recursive: true });
  });
});

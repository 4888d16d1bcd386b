/** Runs the store's suite over PostgreSQL. */
import { describe, expect, it, onTestFinished } from "vitest";
import { PostgresEngine } from "../../src/ledger/postgres/postgres-engine.ts";
import { LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import { createLog } from "../../src/log.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { openShared } from "./shared-store.ts";
import { type StoreFixture, storeSuite } from "./store-suite.ts";

const log = createLog("silent", (text) => text);

/** The stores share these engines, because the suite opens hundreds of stores and a server accepts 100 connections. */
const CONNECTIONS = 8;

async function openFixture(): Promise<StoreFixture> {
  const server = await PostgresServer.start();
  const clock = new ManualClock();
  const wallMs = (): number => clock.wallMs();
  const engines = Array.from(
    { length: CONNECTIONS },
    () => new PostgresEngine({ storeUrl: server.url, log, clockSql: () => String(clock.steadyMs()) }),
  );
  let opened = 0;
  return {
    open: (identity) => {
      const engine = engines[opened % CONNECTIONS];
      opened += 1;
      if (engine === undefined) throw new Error("there is no connection");
      return new LedgerStore({ engine, identity, machineId: "machine", wallMs });
    },
    advance: (ms) => clock.skip(ms),
    putBack: () => clock.reboot(),
    wallMs,
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()));
      await server.remove();
    },
  };
}

describe.skipIf(whyNoPostgres() !== undefined)("with PostgreSQL", () => {
  storeSuite("PostgreSQL", openFixture);

  it("a narration that two machines have made under two API keys is listed once by a machine that uses both", async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.remove());
    const narration = { narrationId: "nar_shared", plan: "plan", state: "planned", createdAtMs: 1 };
    const other = openShared(server.url, { apiKeyId: "other", machineId: "elsewhere" });
    await other.narrations.insert(narration);
    const own = openShared(server.url, { apiKeyId: "own" });
    await own.narrations.insert(narration);
    await openShared(server.url, { apiKeyId: "other" }).narrations.insert({
      ...narration,
      narrationId: "nar_own",
    });
    const ids = (await own.narrations.listNewest(10)).map(({ narrationId }) => narrationId);
    expect(ids.sort()).toEqual(["nar_own", "nar_shared"]);
  });
});

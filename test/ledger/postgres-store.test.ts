/** Runs the store's suite over PostgreSQL. */
import { describe } from "vitest";
import { PostgresEngine } from "../../src/ledger/postgres/postgres-engine.ts";
import { LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import { createLog } from "../../src/log.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
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
});

/** Runs the store's suite over PostgreSQL. */
import { describe } from "vitest";
import { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { PostgresEngine } from "../../src/ledger/postgres/postgres-engine.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { type StoreBench, storeSuite } from "./store-suite.ts";

const log = createLog("silent", (text) => text);

async function openBench(): Promise<StoreBench> {
  const server = await PostgresServer.start();
  const clock = new HandClock();
  const wallMs = (): number => clock.wallMs();
  const stores: LedgerStore[] = [];
  return {
    open: (identity) => {
      const engine = new PostgresEngine({
        storeUrl: server.url,
        log,
        clockSql: () => String(clock.steadyMs()),
      });
      const store = new LedgerStore({ engine, identity, machineId: "machine", wallMs });
      stores.push(store);
      return store;
    },
    advance: (ms) => clock.skip(ms),
    putBack: () => clock.reboot(),
    wallMs,
    close: async () => {
      await Promise.all(stores.map((store) => store.close()));
      await server.remove();
    },
  };
}

describe.skipIf(whyNoPostgres() !== undefined)("with PostgreSQL", () => {
  storeSuite("PostgreSQL", openBench);
});

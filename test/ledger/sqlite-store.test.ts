/** Runs the store's suite over SQLite, and tests what only a store of one machine promises. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/sqlite-store.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { storeSuite } from "./store-suite.ts";

const log = createLog("silent", (text) => text);

storeSuite("SQLite", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "agm-ledger-"));
  const clock = new HandClock();
  const stores: LedgerStore[] = [];
  return {
    seesAllAccounts: true,
    open: (identity) => {
      const store = openSqliteStore({ stateDir, log, clock, identity });
      stores.push(store);
      return store;
    },
    advance: (ms) => clock.skip(ms),
    putBack: () => clock.reboot(),
    wallMs: () => clock.wallMs(),
    close: async () => {
      for (const store of stores) await store.close();
      rmSync(stateDir, { recursive: true });
    },
  };
});

/**
 * Random faults everywhere at once. After each round, service, tools and disk must agree. `npm run chaos` runs more
 * rounds.
 */
import { describe, expect, it } from "vitest";
import { openLedgerStores, STORES } from "../support/ledger-storage.ts";
import { whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { runChaosRounds } from "./chaos/chaos-run.ts";

describe("whatever fails, each request is one task, one charge and one whole file, and the key is in no output", () => {
  for (const store of STORES) {
    const whyNot = store === "postgres" ? whyNoPostgres() : null;
    it(`with the ledger in ${store}`, skipBecause(whyNot), async () => {
      const stores = await openLedgerStores(store);
      await expect(runChaosRounds(20_261_121, stores, 5).finally(stores.close)).resolves.toBeDefined();
    });
  }
});

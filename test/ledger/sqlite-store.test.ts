/** Runs the store's suite over SQLite, and tests the promises that only a store of one machine makes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toPathLookupKey } from "../../src/ledger/identity.ts";
import type { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { openSqliteStore } from "../support/sqlite-ledger.ts";
import { DAY_MS, Desk, HOUR_MS, reasonOf, type StoreBench, savedAt } from "./store-suite/desk.ts";
import { storeSuite } from "./store-suite.ts";

interface SqliteBench extends StoreBench {
  readonly clock: ManualClock;
}

function openBench(): SqliteBench {
  const stateDir = mkdtempSync(join(tmpdir(), "agm-ledger-"));
  const clock = new ManualClock();
  const stores: LedgerStore[] = [];
  return {
    clock,
    open: (identity) => {
      const store = openSqliteStore({ stateDir, clock, identity });
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
}

storeSuite("SQLite", async () => openBench());

describe("on one machine", () => {
  let bench: SqliteBench;
  beforeAll(() => {
    bench = openBench();
  });
  afterAll(() => bench.close());

  it("a wall clock set by a day affects no limit window, and makes a budget count more, not less", async () => {
    const desk = new Desk(bench);
    const limits = { maxCreates: 1, budget: { credits: 300, windowMs: DAY_MS } };
    await desk.create("accepted", limits);
    bench.clock.moveWall(20 * HOUR_MS);
    expect(reasonOf(await desk.ask(limits))).toBe("rate");
    bench.advance(60_001);
    await desk.create("accepted", limits);
    bench.clock.moveWall(-48 * HOUR_MS);
    bench.advance(60_001);
    expect((await desk.ask(limits)).admission).toEqual({ kind: "over_budget", countedCredits: 300 });
  });

  it("a file is found whichever service made it", async () => {
    const desk = new Desk(bench);
    const path = `/audio/${desk.keyId}.mp3`;
    await desk.put(desk.record({ status: "succeeded", taskId: "t", files: [savedAt(path)] }));
    expect(await new Desk(bench).store().recordSearch.findByLookupKey(toPathLookupKey(path))).toHaveLength(1);
  });

  it("the cost of a record remains when the sums of two days ago are dropped", async () => {
    const desk = new Desk(bench);
    const record = await desk.create("accepted");
    bench.advance(3 * DAY_MS);
    await desk.create("accepted");
    // Its sum has expired, so nothing is subtracted from another one.
    await desk.end(record, 10);
    expect(await desk.store().admissions.sumSpentCredits(DAY_MS)).toBe(160);
  });
});

/** Runs the store's suite over SQLite, and tests the promises that only a store of one machine makes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toPathLookupKey } from "../../src/ledger/identity.ts";
import type { LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { openSqliteStore } from "../support/sqlite-ledger.ts";
import {
  DAY_MS,
  HOUR_MS,
  reasonOf,
  type StoreFixture,
  StoreSetup,
  savedAt,
} from "./store-suite/store-setup.ts";
import { storeSuite } from "./store-suite.ts";

interface SqliteFixture extends StoreFixture {
  readonly clock: ManualClock;
}

function openFixture(): SqliteFixture {
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

storeSuite("SQLite", async () => openFixture());

describe("on one machine", () => {
  let fixture: SqliteFixture;
  beforeAll(() => {
    fixture = openFixture();
  });
  afterAll(() => fixture.close());

  it("a wall clock set by a day affects no limit window, and makes a budget count more, not less", async () => {
    const setup = new StoreSetup(fixture);
    const limits = { maxSubmissions: 1, budget: { credits: 300, windowMs: DAY_MS } };
    await setup.create("accepted", limits);
    fixture.clock.moveWall(20 * HOUR_MS);
    expect(reasonOf(await setup.ask(limits))).toBe("rate");
    fixture.advance(60_001);
    await setup.create("accepted", limits);
    fixture.clock.moveWall(-48 * HOUR_MS);
    fixture.advance(60_001);
    expect((await setup.ask(limits)).admission).toEqual({ kind: "over_budget", spentInWindowCredits: 300 });
  });

  it("a file is found whichever service made it", async () => {
    const setup = new StoreSetup(fixture);
    const path = `/audio/${setup.apiKeyId}.mp3`;
    await setup.put(setup.record({ status: "succeeded", taskId: "t", files: [savedAt(path)] }));
    expect(
      await new StoreSetup(fixture).store().recordSearch.findByLookupKey(toPathLookupKey(path)),
    ).toHaveLength(1);
  });

  it("the cost of a record remains when the sums of two days ago are dropped", async () => {
    const setup = new StoreSetup(fixture);
    const record = await setup.create("accepted");
    fixture.advance(3 * DAY_MS);
    await setup.create("accepted");
    // The sum that contained this spend has expired, so nothing is subtracted from another sum.
    await setup.end(record, 10);
    expect(await setup.store().admissions.sumSpentCredits(DAY_MS)).toBe(160);
  });
});

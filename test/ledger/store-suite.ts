/** Tests that every ledger store must pass, on any engine. Each store's own test runs them. */
import { afterAll, beforeAll, describe } from "vitest";
import { budgetSuite } from "./store-suite/budget.ts";
import { concurrencySlotsSuite } from "./store-suite/concurrency-slots.ts";
import { handlesSuite } from "./store-suite/mcp-tasks.ts";
import { narrationsSuite } from "./store-suite/narrations.ts";
import { recordsSuite } from "./store-suite/records.ts";
import { type StoreFixture, StoreSetup } from "./store-suite/store-setup.ts";
import { submissionsSuite } from "./store-suite/submissions.ts";

export type { StoreFixture } from "./store-suite/store-setup.ts";

/** @param open called once for all tests; each test has its own service and API keys */
export function storeSuite(name: string, open: () => Promise<StoreFixture>): void {
  describe(`a ledger store over ${name}`, () => {
    let fixture: StoreFixture;
    beforeAll(async () => {
      fixture = await open();
    });
    afterAll(() => fixture.close());
    const getFixture = (): StoreFixture => fixture;
    const newSetup = (): StoreSetup => new StoreSetup(fixture);
    for (const suite of [
      recordsSuite,
      narrationsSuite,
      handlesSuite,
      submissionsSuite,
      concurrencySlotsSuite,
      budgetSuite,
    ]) {
      suite(getFixture, newSetup);
    }
  });
}

/** Owns the tests of the sandbox under load: every request answered, every credit accounted for. */
import { describe, expect, it } from "vitest";
import { startBox } from "./box.ts";
import { hammerAccounts, hammerSandbox } from "./hammer.ts";

const ACCOUNTS = 20;
const keys = Array.from({ length: ACCOUNTS }, (_, index) => `sk-hammer-${index}`);

describe("two hundred clients at once", () => {
  it.each([
    ["within limits", true],
    ["without limits", false],
  ])("lose no answer and no credit (%s)", async (_, enforceLimits) => {
    const { sandbox, setFaults } = await startBox({
      enforceLimits,
      processingSeconds: 0.02,
      accounts: hammerAccounts(ACCOUNTS, 3000),
    });
    await setFaults({ fail_next_tasks: 20 });
    const report = await hammerSandbox({ sandbox, keys, clients: 200, seconds: 2 });
    expect(report.unanswered).toEqual([]);
    expect(report.wrongBalances).toEqual([]);
    expect(report.tasks).toBeGreaterThan(50);
    expect(Object.keys(report.answers).some((name) => name.startsWith("5"))).toBe(false);
  });
});

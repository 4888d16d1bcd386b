/**
 * Runs random scenarios on the store, and compares each answer of the store with what really happened. Planted faults
 * prove that the scenarios find faults.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SqliteEngine } from "../../src/ledger/sqlite/sqlite-engine.ts";
import { Violation } from "./rules-model/ledger-oracle.ts";
import { run, ScenarioClock, type ScenarioOptions, scenario } from "./rules-model/ledger-scenario.ts";
import { plantedFaults } from "./rules-model/planted-faults.ts";

const clock = new ScenarioClock();
let stateDir: string;
let correctEngine: SqliteEngine;
beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), "agm-model-"));
  correctEngine = new SqliteEngine({ stateDir, clock });
});
afterAll(async () => {
  await correctEngine.close();
  rmSync(stateDir, { recursive: true });
});

const keepsRules = (options: ScenarioOptions) => fc.asyncProperty(scenario, (one) => run(one, options));

describe("the rules of admission", () => {
  it.each([
    ["the same scenarios each time", { seed: 1, numRuns: 400 }],
    ["other scenarios each time", { numRuns: 100 }],
  ])("hold in %s", async (_what, parameters) => {
    // Stop after 20 s, so that the shrinking of a failed scenario ends before the time limit of the test.
    await fc.assert(keepsRules({ correctEngine, engine: correctEngine, clock }), {
      ...parameters,
      interruptAfterTimeLimit: 20_000,
    });
  });

  it.each(plantedFaults)("are found to be broken if $name", async ({ plant, rules }) => {
    const found = await fc.check(keepsRules(plant(correctEngine, clock)), {
      seed: 3,
      numRuns: 400,
      endOnFailure: true,
    });
    expect(found.errorInstance).toBeInstanceOf(Violation);
    expect(rules).toContain(found.errorInstance instanceof Violation ? found.errorInstance.rule : undefined);
  });
});

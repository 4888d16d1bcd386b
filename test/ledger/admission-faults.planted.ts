/** Proves that the model of admission.model.test.ts finds faults, by planting them in copies of the sources. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { loadCode } from "./admission-model/code-under-test.ts";
import { Violation } from "./admission-model/facts.ts";
import { PLANTED_FAULTS, plantFault } from "./admission-model/planted-faults.ts";
import { runScenario, scenario } from "./admission-model/scenario.ts";
import { closeBench, openBench } from "./admission-model/world.ts";

const MAX_RUNS = 300;

it.each(PLANTED_FAULTS)("the model finds that $name", { timeout: 120_000 }, async (fault) => {
  const folder = plantFault(fault);
  const stateDir = mkdtempSync(join(tmpdir(), "agm-fault-"));
  try {
    const bench = await openBench(await loadCode(folder), stateDir);
    const keepsRules = fc.asyncProperty(scenario, (one) => runScenario(bench, one));
    const found = await fc.check(keepsRules, { seed: 5, numRuns: MAX_RUNS, endOnFailure: true });
    await closeBench(bench);
    expect(found.errorInstance).toBeInstanceOf(Violation);
    expect(fault.rules).toContain(found.errorInstance instanceof Violation ? found.errorInstance.rule : null);
  } finally {
    rmSync(stateDir, { recursive: true });
    rmSync(folder, { recursive: true });
  }
});

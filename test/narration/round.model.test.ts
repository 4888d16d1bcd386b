/**
 * Runs random scenarios of narrations, with processes that die, sleep and lose the ledger, and judges the promises of a
 * narration. `AUDIO_MODEL_RUNS` sets how many scenarios there are.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openBench } from "./round-model/bench.ts";
import { loadWorkflowCode } from "./round-model/code-under-test.ts";
import { runScenario, scenario } from "./round-model/scenario.ts";

const given = process.env["AUDIO_MODEL_RUNS"];
const RUNS = Number(given ?? 25);
const isLong = given !== undefined;

const SCENARIOS: ReadonlyArray<readonly [string, { readonly seed?: number }]> = [
  ["the same scenarios each time", { seed: 1 }],
  // New scenarios are for a person who can look into what they find.
  ...(isLong ? [["other scenarios each time", {}] as const] : []),
];

it.each(SCENARIOS)(
  "a narration keeps its promises in %s",
  { timeout: isLong ? 3_600_000 : 120_000 },
  async (_what, seed) => {
    const folder = mkdtempSync(join(tmpdir(), "agm-round-"));
    const bench = await openBench(await loadWorkflowCode(resolve(import.meta.dirname, "../../src")), folder);
    let count = 0;
    const property = fc.asyncProperty(scenario, async (one) => {
      await runScenario(bench, one);
      count += 1;
    });
    try {
      const limit = isLong ? {} : { interruptAfterTimeLimit: 10_000 };
      // Without shrinking, which would take minutes: a scenario is short, and its steps are in the message.
      await fc.assert(property, { ...seed, ...limit, numRuns: RUNS, endOnFailure: true });
      expect(count).toBeGreaterThan(0);
    } finally {
      await bench.close();
      rmSync(folder, { recursive: true });
    }
  },
);

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
import { runScenario, type Scenario, scenario } from "./round-model/scenario.ts";

const given = process.env["AUDIO_MODEL_RUNS"];
const RUNS = Number(given ?? 25);
const isLong = given !== undefined;

/** A narration is stopped while its next part waits for its turn, which a call wants, too. */
const STOPPED_BESIDE_A_CALL: Scenario = {
  isDamaging: true,
  hasSecondKey: false,
  script: [
    49, 66, 38, 87, 11, 88, 49, 25, 33, 8, 83, 32, 89, 47, 28, 63, 99, 22, 41, 61, 94, 44, 47, 57, 79, 22,
  ],
  steps: [
    { kind: "stop", pauseMs: 700, a: 49, b: 47, c: 54 },
    { kind: "cancel", pauseMs: 2500, a: 19, b: 57, c: 26 },
    { kind: "narrate", pauseMs: 6000, a: 9, b: 19, c: 20 },
    { kind: "narrate", pauseMs: 0, a: 27, b: 54, c: 5 },
    { kind: "generate", pauseMs: 700, a: 40, b: 49, c: 46 },
  ],
};

interface Parameters {
  readonly seed?: number;
  readonly examples?: Array<[Scenario]>;
}

const SCENARIOS: ReadonlyArray<readonly [string, Parameters]> = [
  ["the same scenarios each time", { seed: 1, examples: [[STOPPED_BESIDE_A_CALL]] }],
  // New scenarios are for a person who can look into what they find.
  ...(isLong ? [["other scenarios each time", {}] as const] : []),
];

it.each(SCENARIOS)(
  "a narration keeps its promises in %s",
  { timeout: isLong ? 3_600_000 : 120_000 },
  async (_what, parameters) => {
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
      await fc.assert(property, { ...parameters, ...limit, numRuns: RUNS, endOnFailure: true });
      expect(count).toBeGreaterThan(0);
    } finally {
      await bench.close();
      rmSync(folder, { recursive: true });
    }
  },
);

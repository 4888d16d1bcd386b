/**
 * Runs random scenarios on the ledger's rows, and compares each answer and each row with a model of what has happened.
 * `AUDIO_MODEL_RUNS` sets how many scenarios there are.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, it } from "vitest";
import { loadCode } from "./admission-model/code-under-test.ts";
import { runScenario, scenario } from "./admission-model/scenario.ts";
import { type Bench, closeBench, openBench } from "./admission-model/world.ts";

const RUNS = Number(process.env["AUDIO_MODEL_RUNS"] ?? 25);
const isLong = process.env["AUDIO_MODEL_RUNS"] !== undefined;

const stateDir = mkdtempSync(join(tmpdir(), "agm-model-"));
const benches: Bench[] = [];
beforeAll(async () => {
  const code = await loadCode(resolve(import.meta.dirname, "../../src"));
  benches.push(await openBench(code, stateDir), await openBench(code, stateDir, 2));
});
afterAll(async () => {
  for (const bench of benches) await closeBench(bench);
  rmSync(stateDir, { recursive: true });
});

const keepsRules = (at: number) =>
  fc.asyncProperty(scenario, async (one) => {
    const bench = benches[at];
    if (bench !== undefined) await runScenario(bench, one);
  });

interface Series {
  readonly what: string;
  readonly at: number;
  readonly parameters: { readonly seed?: number; readonly numRuns: number };
}

const SERIES: readonly Series[] = [
  { what: "the same scenarios each time", at: 0, parameters: { seed: 1, numRuns: RUNS } },
  {
    what: "processes with connections of their own",
    at: 1,
    parameters: { seed: 2, numRuns: Math.ceil(RUNS / 5) },
  },
  // New scenarios are for a person who can look into what they find.
  ...(isLong ? [{ what: "other scenarios each time", at: 0, parameters: { numRuns: RUNS } }] : []),
];

it.each(SERIES)(
  "the yes to a submission keeps its rules in $what",
  { timeout: isLong ? 3_600_000 : 120_000 },
  async ({ at, parameters }) => {
    await fc.assert(keepsRules(at), parameters);
  },
);

/**
 * Runs random scenarios on the ledger's rows, and compares each answer and each row with a model of what has happened.
 * `AUDIO_MODEL_RUNS` sets how many scenarios there are.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, it } from "vitest";
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

describe("the yes to a submission", () => {
  it.each([
    ["the same scenarios each time", 0, { seed: 1, numRuns: RUNS }],
    ["other scenarios each time", 0, { numRuns: RUNS }],
    ["processes with connections of their own", 1, { numRuns: Math.ceil(RUNS / 5) }],
  ])("keeps its rules in %s", { timeout: isLong ? 3_600_000 : 120_000 }, async (_what, at, parameters) => {
    await fc.assert(keepsRules(at), parameters);
  });
});

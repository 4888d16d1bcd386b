/**
 * Random scenarios in which `decideDriverStep` chooses each step of a narration. Planted faults prove that the
 * scenarios find faults.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideDriverStep } from "../../src/narration/driving/driver-step.ts";
import { Violation } from "./driver-step-model/check-step.ts";
import {
  type DriverFaults,
  type Next,
  narrationScenario,
  run,
} from "./driver-step-model/narration-scenario.ts";
import { plantedFaults } from "./driver-step-model/planted-faults.ts";

const keepsPromises = (next: Next, faults?: DriverFaults) =>
  fc.property(narrationScenario, (one) => run(one, next, faults));

describe("the next steps of a narration", () => {
  it.each([
    ["the same scenarios each time", { seed: 1, numRuns: 3000 }],
    ["other scenarios each time", { numRuns: 1000 }],
  ])("keep their promises in %s", (_what, parameters) => {
    fc.assert(keepsPromises(decideDriverStep), parameters);
  });

  it.each(plantedFaults)("are found to break one if $name", ({ next, faults, promises }) => {
    const found = fc.check(keepsPromises(next, faults), { seed: 3, numRuns: 3000, endOnFailure: true });
    expect(found.errorInstance).toBeInstanceOf(Violation);
    expect(promises).toContain(found.errorInstance instanceof Violation ? found.errorInstance.message : "");
  });
});

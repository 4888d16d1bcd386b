/** Proves that the model of round.model.test.ts finds faults, by planting them in copies of the sources. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type PlantedFault, plantFault } from "../ledger/admission-model/planted-faults.ts";
import { openBench } from "./round-model/bench.ts";
import { loadWorkflowCode } from "./round-model/code-under-test.ts";
import { runScenario, scenario } from "./round-model/scenario.ts";
import { type Promised, Violation } from "./round-model/violation.ts";

/** A fault is found within 20 scenarios on an idle machine; a busy one lets other steps meet. */
const MAX_RUNS = 240;
const ROUND = "narration/round.ts";

const FAULTS: ReadonlyArray<PlantedFault<Promised>> = [
  {
    name: "parts are begun from the end",
    file: ROUND,
    changes: [
      [
        "(heard.find(isNext) ?? this.#states.find(isNext))",
        "(heard.findLast(isNext) ?? this.#states.findLast(isNext))",
      ],
    ],
    rules: ["order"],
  },
  {
    name: "a limit need not cover the reservation",
    file: "ledger/admission.ts",
    changes: [["spent + RESERVED_CREDITS <= (narration", "spent < (narration"]],
    rules: ["limit"],
  },
  {
    name: "callers pay for what only a narration wants",
    file: "ledger/wishes.ts",
    changes: [
      [
        "return [...new Set(standing.map((wish) => wish.target))];",
        "return standing.length > 0 ? [null] : [];",
      ],
    ],
    rules: ["payer"],
  },
  {
    name: "an attempt has another key each time",
    file: "requests/stored-input.ts",
    changes: [
      [
        "deriveIdempotencyKey(body, take, attempt)",
        "deriveIdempotencyKey(body, take, attempt + Math.random())",
      ],
    ],
    rules: ["admission", "twice"],
  },
  {
    name: "a file lacks its first part",
    file: "narration/narration-joiner.ts",
    changes: [
      [
        'return state?.status === "saved" ? [state] : [];',
        'return state?.status === "saved" && index > 0 ? [state] : [];',
      ],
    ],
    rules: ["saved"],
  },
  {
    name: "what is paid for is not fetched after a stop",
    file: ROUND,
    changes: [
      [
        'const isRunning = narration.status === "running";',
        'const isRunning = narration.status === "running";\n    if (!isRunning) return false;',
      ],
    ],
    rules: ["saved", "liveness"],
  },
  {
    name: "a bill counts what callers have paid",
    file: "ledger/bills.ts",
    changes: [
      [
        '.where("payer", "=", narrationId)\n    .groupBy(["fingerprint", "n", "base_url", "task_id"])',
        '.groupBy(["fingerprint", "n", "base_url", "task_id"])',
      ],
    ],
    rules: ["bill", "liveness"],
  },
];

it.each(FAULTS)("the model finds that $name", { timeout: 240_000 }, async (fault) => {
  const sources = plantFault(fault);
  const folder = mkdtempSync(join(tmpdir(), "agm-round-fault-"));
  try {
    const bench = await openBench(await loadWorkflowCode(sources), folder);
    const keepsPromises = fc.asyncProperty(scenario, (one) => runScenario(bench, one));
    const found = await fc.check(keepsPromises, { seed: 5, numRuns: MAX_RUNS, endOnFailure: true });
    await bench.close();
    expect(found.errorInstance).toBeInstanceOf(Violation);
    expect(fault.rules).toContain(found.errorInstance instanceof Violation ? found.errorInstance.rule : null);
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(sources, { recursive: true });
  }
});

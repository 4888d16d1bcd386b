/**
 * Begins with the files that take longest, so that no worker is left with one of them at the end while the others idle.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, longest first. The other files follow in Vitest's own order. */
const LONGEST = [
  "test/crash/replace.test.ts",
  "test/narration/alice.test.ts",
  "test/ledger/postgres-faults.test.ts",
  "test/ledger/processes.test.ts",
  "test/narration/several-clients.test.ts",
  "test/mcp-tasks/narration-cancel.test.ts",
  "test/mcp-tasks/processes.test.ts",
  "test/mcp-tasks/races.test.ts",
  "test/mcp-tasks/cancel.test.ts",
  "test/mcp-tasks/narration.test.ts",
  "test/faults/defects/audio-not-lost.test.ts",
  "test/faults/defects/unanswered-submissions.test.ts",
  "test/crash/kill-points.test.ts",
  "test/sandbox/speech/prompts.test.ts",
  "test/surface/conversations/waiting.test.ts",
  "test/faults/process-life.test.ts",
  "test/e2e/service-refusals.test.ts",
  "test/faults/defects/money.test.ts",
  "test/ledger/rules.model.test.ts",
  "test/surface/conversations/repeats.test.ts",
  "test/narration/narration-life.test.ts",
  "test/surface/conversations/time-outs.test.ts",
  "test/platforms/silent-disk.test.ts",
  "test/e2e/readme-clients.test.ts",
  "test/audio/damage.test.ts",
  "test/crash/endings.test.ts",
  "test/player/hostile.test.ts",
  "test/player/quick-commands.test.ts",
  "test/player/looks.test.ts",
  "test/mcp-tasks/store-faults.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const known = LONGEST.indexOf(relative(process.cwd(), moduleId).replaceAll("\\", "/"));
      return known === -1 ? LONGEST.length : known;
    };
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

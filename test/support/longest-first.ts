/**
 * Begins with the files that take longest, so that no worker is left with one of them at the end while the others idle.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, longest first. The other files follow in Vitest's own order. */
const LONGEST = [
  "test/ledger/postgres-faults.test.ts",
  "test/ledger/processes.test.ts",
  "test/narration/takeover.test.ts",
  "test/surface/conversations/waiting.test.ts",
  "test/platforms/silent-disk.test.ts",
  "test/mcp-tasks/narration-cancel.test.ts",
  "test/player/quick-commands.test.ts",
  "test/crash/replace.test.ts",
  "test/narration/several-clients.test.ts",
  "test/crash/recovery.test.ts",
  "test/faults/defects/true-results.test.ts",
  "test/faults/defects/ledger-away.test.ts",
  "test/mcp-tasks/cancel.test.ts",
  "test/surface/conversations/requests.test.ts",
  "test/mcp-tasks/processes.test.ts",
  "test/e2e/handles.test.ts",
  "test/narration/huge-text.test.ts",
  "test/processes/lost-stores.test.ts",
  "test/processes/shared-limits.test.ts",
  "test/e2e/sandbox-package.test.ts",
  "test/faults/watch.test.ts",
  "test/mcp-tasks/store-faults.test.ts",
  "test/e2e/service-refusals.test.ts",
  "test/faults/defects/unanswered-submissions.test.ts",
  "test/faults/defects/audio-not-lost.test.ts",
  "test/mcp-tasks/narration.test.ts",
  "test/player/looks.test.ts",
  "test/narration/random-kills.test.ts",
  "test/narration/sheet/sheet-life.test.ts",
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

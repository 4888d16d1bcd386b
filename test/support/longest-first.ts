/**
 * Begins with the files that take longest, so that no worker is left with one of them at the end while the others idle.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, longest first. The other files follow in Vitest's own order. */
const LONGEST = [
  "test/ledger/postgres-faults.test.ts",
  "test/faults/seams/outages.test.ts",
  "test/e2e/doctor.test.ts",
  "test/e2e/books.test.ts",
  "test/narration/random-kills.test.ts",
  "test/platforms/silent-disk.test.ts",
  "test/e2e/sheets.test.ts",
  "test/narration/alice.test.ts",
  "test/surface/conversations/repeats.test.ts",
  "test/e2e/narrate-command.test.ts",
  "test/e2e/formats.test.ts",
  "test/narration/takeover.test.ts",
  "test/player/quick-commands.test.ts",
  "test/crash/replace.test.ts",
  "test/audio/damage.test.ts",
  "test/platforms/no-hard-links.test.ts",
  "test/e2e/protocol.test.ts",
  "test/e2e/sandbox-package.test.ts",
  "test/mcp-tasks/processes.test.ts",
  "test/ledger/processes.test.ts",
  "test/narration/several-clients.test.ts",
  "test/files/save-audio.test.ts",
  "test/player/hostile.test.ts",
  "test/surface/conversations/waiting.test.ts",
  "test/contract/sandbox.test.ts",
  "test/faults/seams/retyped.test.ts",
  "test/crash/recovery.test.ts",
  "test/mcp-tasks/narration-cancel.test.ts",
  "test/faults/process-life.test.ts",
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

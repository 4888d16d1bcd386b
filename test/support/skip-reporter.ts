/**
 * Ends a run with a list of the skipped tests and their reasons. In continuous integration, a skip without a reason
 * fails the run.
 */
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

function reasonOf(test: TestCase): string | undefined {
  const result = test.result();
  return (result.state === "skipped" ? result.note : undefined) ?? test.meta().whySkipped;
}

export class SkipList implements Reporter {
  /** Whether the command line selects tests by name (`-t`). The tests that it excludes need no reason. */
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#isFiltered) return;
    const byReason = new Map<string | undefined, TestCase[]>();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const reason = reasonOf(test);
        byReason.set(reason, [...(byReason.get(reason) ?? []), test]);
      }
    }
    for (const [reason, tests] of byReason) {
      const lines = tests.map(
        ({ module, fullName }) => `  ${relative(process.cwd(), module.moduleId)}: ${fullName}\n`,
      );
      process.stdout.write(`Skipped ${tests.length}: ${reason ?? "no reason is given"}\n${lines.join("")}`);
    }
    if (byReason.has(undefined) && process.env["CI"] === "true") {
      process.stderr.write("A test was skipped without a reason, so this run has failed.\n");
      process.exitCode = 1;
    }
  }
}

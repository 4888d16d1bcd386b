import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";
import { SkipList } from "./test/support/skip-reporter.ts";

/**
 * These tests change or measure what belongs to the whole process: its environment, its umask, a module of Node, or its
 * memory.
 */
const APART = [
  "test/api/tls-and-proxy.test.ts",
  "test/files/parent-folder-race.test.ts",
  "test/ledger/postgres-faults.test.ts",
  "test/ledger/sqlite-file.test.ts",
];

export default defineConfig({
  test: {
    globalSetup: ["test/support/fresh-build.ts", "test/support/scratch-disk.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Expected events arrive within milliseconds, or within seconds on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    // Most tests wait for processes, so with fewer than three workers per core both cores of a quick machine idle. On a
    // slow machine, as CI may have, six workers are no faster than three, and tests starve.
    maxWorkers: process.env["CI"] === "true" ? 3 : 6,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", new SkipList()],
    projects: [
      {
        extends: true,
        // A process for each of two hundred files would cost a minute of both cores.
        test: { name: "together", include: ["test/**/*.test.ts"], exclude: APART, isolate: false },
      },
      { extends: true, test: { name: "apart", include: APART } },
    ],
  },
});

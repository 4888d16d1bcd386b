import { matchesGlob } from "node:path";
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

/**
 * `npm run test:long` runs these: random histories, matrices of damage, second engines, odd platforms, browsers, series of
 * killed processes, and what is packed. Each promise that they try in many ways has a test in `npm test` as well, or
 * test/README.md names it as one that only they hold.
 */
const LONG = [
  "test/audio/damage.test.ts",
  "test/crash/{kill-points,replace}.test.ts",
  "test/e2e/{added-field,packaging,private-sandbox,readme-clients,release-check,sandbox-package}.test.ts",
  "test/faults/{chaos,process-life}.test.ts",
  "test/faults/defects/suspended-process.test.ts",
  "test/faults/seams/outages.test.ts",
  "test/ledger/{admission.model,keyv-suite,postgres-faults,processes}.test.ts",
  "test/mcp-tasks/{processes,store-faults}.test.ts",
  "test/narration/{alice,huge-text,random-kills,takeover}.test.ts",
  // Its scenarios follow real time on a busy machine, so it runs where somebody looks at what it finds.
  ...("AUDIO_MODEL_RUNS" in process.env ? ["test/narration/round.model.test.ts"] : []),
  "test/narration/text/properties.test.ts",
  "test/platforms/**/*.test.ts",
  "test/player/**/*.test.ts",
  "test/processes/{shared-limits,shared-narrations}.test.ts",
  "test/properties/**/*.test.ts",
  "test/sandbox/speech/prompts.test.ts",
];

const EVERY = "test/**/*.test.ts";
const isLong = (file: string): boolean => LONG.some((pattern) => matchesGlob(file, pattern));
const [longApart, quickApart] = [APART.filter(isLong), APART.filter((file) => !isLong(file))];

export default defineConfig({
  test: {
    globalSetup: ["test/support/fresh-build.ts", "test/support/scratch-disk.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Expected events arrive within milliseconds, or within seconds on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    // Most tests wait for processes, so with one worker per core both cores of a quick machine idle. With more than four,
    // tests starve; on a slow machine, as CI may have, four are no faster than three.
    maxWorkers: process.env["CI"] === "true" ? 3 : 4,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", new SkipList()],
    // A process for each of two hundred files would cost a minute of both cores, so the files together are not isolated.
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: [EVERY],
          exclude: [...LONG, ...APART, "test/narration/round.model.test.ts"],
          isolate: false,
        },
      },
      { extends: true, test: { name: "quick, apart", include: quickApart } },
      { extends: true, test: { name: "long", include: LONG, exclude: APART, isolate: false } },
      { extends: true, test: { name: "long, apart", include: longApart } },
    ],
  },
});

/**
 * Runs the official conformance suite against the built bin behind a bridge. README.md beside this file has the
 * results.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cachedTool } from "../../scripts/cached-packages.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { startBridge } from "./bridge.ts";

/**
 * Lines that the suite must print. README.md lists all results. The suite's exit code is 0 if exactly the scenarios in
 * `expected-failures.yml` fail.
 */
const PASSING = [
  "server-initialize: 1 passed, 0 failed",
  "ping: 1 passed, 0 failed",
  "tools-list: 1 passed, 0 failed",
  "resources-list: 1 passed, 0 failed",
  "server-sse-multiple-streams: 2 passed, 0 failed",
  "dns-rebinding-protection: 2 passed, 0 failed",
];

it("passes every scenario of the suite that applies to it", async () => {
  const testFolders = await createTestFolders();
  const bridge = await startBridge(testFolders.env(null));
  const cwd = await mkdtemp(join(tmpdir(), "agm-conformance-"));
  const expected = join(import.meta.dirname, "expected-failures.yml");
  const args = ["server", "--url", bridge.url, "--suite", "all", "--expected-failures", expected];
  const suite = spawn(process.execPath, [cachedTool("conformance"), ...args], { cwd });
  let words = "";
  for (const stream of [suite.stdout, suite.stderr]) {
    stream.on("data", (chunk) => {
      words += String(chunk);
    });
  }
  const status = await new Promise((resolve) => suite.once("exit", resolve));
  expect(status, words.slice(-4000)).toBe(0);
  for (const line of PASSING) expect(words).toContain(line);
  await bridge.close();
  await Promise.all([testFolders.remove(), rm(cwd, { recursive: true })]);
});

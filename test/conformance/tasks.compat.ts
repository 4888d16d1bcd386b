/**
 * Runs the official suite's scenarios of the tasks extension against the built bin. README.md beside this file has the
 * results.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { cachedTool } from "../../scripts/cached-packages.ts";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { type Fixtures, startModernBridge } from "./modern-bridge.ts";

/** The prompt of a task that the service reports as failed. */
const FAILING = "This one fails";

const FIXTURES: Fixtures = {
  greet: () => ({ name: "list_voices", arguments: {} }),
  slow_compute: ({ label }) => ({ name: "generate_audio", arguments: { prompt: String(label) } }),
  failing_job: () => ({ name: "generate_audio", arguments: { prompt: FAILING } }),
  // No tool of this server asks the user during a task. `narrate` is used instead: it asks before the task exists.
  confirm_delete: () => ({ name: "narrate", arguments: { text: "Ask the person." } }),
};

/**
 * Each scenario with the number of its checks that pass and the number of all its checks. README.md lists the failing
 * checks.
 */
const SCENARIOS = [
  ["tasks-capability-negotiation", 5, 5],
  ["tasks-wire-fields", 4, 4],
  ["tasks-request-state-removal", 3, 3],
  ["tasks-lifecycle", 8, 9],
  ["tasks-dispatch-and-envelope", 9, 9],
  ["tasks-mrtr-input", 1, 4],
  ["tasks-mrtr-composition", 1, 2],
  ["tasks-request-headers", 2, 5],
  ["tasks-required-task-error", 1, 2],
  ["tasks-status-notifications", 0, 0],
] as const;

it.each(SCENARIOS)("%s: %i of %i checks", async (scenario, passed, checks) => {
  const service = await FakeService.start({ processingMs: 1000 });
  service.intercept = ({ kind, taskId }) => {
    const task = kind === "query" ? service.tasks.get(taskId ?? "") : undefined;
    if (task?.body.includes(FAILING) === true) task.status = "failed";
    return false;
  };
  const testFolders = await createTestFolders();
  const bridge = await startModernBridge(testFolders.env(service, FAST), FIXTURES);
  const cwd = await mkdtemp(join(tmpdir(), "agm-conformance-"));
  onTestFinished(async () => {
    await bridge.close();
    await Promise.all([service.stop(), testFolders.remove(), rm(cwd, { recursive: true })]);
  });
  const args = [
    "server",
    "--url",
    bridge.url,
    "--scenario",
    scenario,
    "--spec-version",
    "2026-07-28",
    "--force",
  ];
  const suite = spawn(process.execPath, [cachedTool("tasksConformance"), ...args], { cwd });
  let words = "";
  for (const stream of [suite.stdout, suite.stderr]) {
    stream.on("data", (chunk) => {
      words += String(chunk);
    });
  }
  await new Promise((resolve) => suite.once("exit", resolve));
  expect(words).toContain(`Passed: ${passed}/${checks}`);
});

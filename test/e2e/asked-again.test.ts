/**
 * If a client gives up a call and repeats it, the repeat does not wait for the whole task. It returns the task while it
 * still runs.
 */
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { setUpEach } from "../support/e2e-setup.ts";
import type { FakeService } from "../support/fake-service.ts";
import type { TestFolders } from "../support/test-folders.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import { taskOf } from "../support/tool-result.ts";

let service: FakeService;
let testFolders: TestFolders;
let client: ToolClient;

setUpEach(
  (setup) => {
    ({ service, testFolders, client } = setup);
    return () => client;
  },
  { processingMs: 6000 },
);

/** A repeat returns within 2 s. A busy machine may take longer, but never as long as the call waits. */
const EARLY_MS = 15_000;

it("the repeat of a cancelled call returns the running task early and pays nothing", async () => {
  // The task does not end while the test runs.
  service.processingMs = 600_000;
  const call = { prompt: "Cancelled by its client", wait_seconds: 30 };
  const stop = new AbortController();
  const first = client.call("generate_audio", call, { signal: stop.signal }).catch(() => "cancelled");
  await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBe(1);
  stop.abort();
  expect(await first).toBe("cancelled");
  const askedAtMs = performance.now();
  const task = taskOf(await client.call("generate_audio", call));
  expect(performance.now() - askedAtMs).toBeLessThan(EARLY_MS);
  expect(task).toMatchObject({ task_id: [...service.tasks.keys()][0], replayed: true });
  expect(task.status).not.toBe("succeeded");
  expect(service.count("create")).toBe(1);
});

it("a call open for longer than 2 s keeps its window, and its repeat returns early", async () => {
  // The task ends only when the test ends it, after the repeat has returned.
  service.processingMs = 600_000;
  const call = { prompt: "Given up in silence", wait_seconds: 30 };
  const first = client.call("generate_audio", call);
  await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 2100));
  const askedAtMs = performance.now();
  const value = await client.call("generate_audio", call);
  expect(performance.now() - askedAtMs).toBeLessThan(EARLY_MS);
  expect(taskOf(value).status).not.toBe("succeeded");
  for (const task of service.tasks.values()) task.status = "succeeded";
  expect(taskOf(await first)).toMatchObject({ status: "succeeded", task_id: taskOf(value).task_id });
});

it("two simultaneous calls both wait for the file", async () => {
  service.processingMs = 300;
  const call = { prompt: "Twice at once", wait_seconds: 30 };
  const both = await Promise.all([1, 2].map(() => client.call("generate_audio", call)));
  expect(both.map((outcome) => taskOf(outcome).status)).toEqual(["succeeded", "succeeded"]);
});

it("a call in another process waits as usual, even if the first has been open for long", async () => {
  service.processingMs = 4000;
  const call = { prompt: "Asked for in two windows", wait_seconds: 30 };
  const first = client.call("generate_audio", call);
  await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 2100));
  const other = await startToolClient(testFolders.env(service, FAST));
  const second = taskOf(await other.call("generate_audio", call));
  await other.close();
  expect(second).toMatchObject({ status: "succeeded", task_id: taskOf(await first).task_id });
  expect(service.count("create")).toBe(1);
});

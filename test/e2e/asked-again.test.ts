/**
 * If a client gives up a call and repeats it, the repeat does not wait for the whole task. It returns the task while it
 * still runs.
 */
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient } from "../support/tool-client.ts";
import { generate, taskOf } from "../support/tool-result.ts";

const service = openServiceEach({ processingMs: 6000 });
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));

it("the repeat of a cancelled call returns the running task early and pays nothing", async () => {
  // The task does not end while the test runs.
  service.processingMs = 600_000;
  const call = { prompt: "Cancelled by its client", wait_seconds: 60 };
  const stop = new AbortController();
  const first = client.call("generate_audio", call, { signal: stop.signal }).catch(() => "cancelled");
  await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBe(1);
  stop.abort();
  expect(await first).toBe("cancelled");
  const beganAt = performance.now();
  const task = await generate(client, call);
  // Within two seconds, and somewhat later on a busy machine.
  expect(performance.now() - beganAt).toBeLessThan(5000);
  expect(task).toMatchObject({ task_id: [...service.tasks.keys()][0], replayed: true });
  expect(service.count("create")).toBe(1);
});

it("a call in another process waits as usual, even if the first has been open for long", async () => {
  service.processingMs = 4000;
  const call = { prompt: "Asked for in two windows", wait_seconds: 30 };
  const first = client.call("generate_audio", call);
  await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 2100));
  const other = await startToolClient(testFolders.env(service, FAST));
  const second = await generate(other, call);
  await other.close();
  expect(second).toMatchObject({ status: "succeeded", task_id: taskOf(await first).task_id });
  expect(service.count("create")).toBe(1);
});

/** Cancelling a narration's MCP task while parts run: what is reported, and that no further part is submitted. */
import { describe, expect, it } from "vitest";
import { buildText, PART_BYTES } from "../narration/narrator.ts";
import { startService, useTestFolders } from "../processes/server-processes.ts";
import type { FakeService } from "../support/fake-service.ts";
import { databasesOfFile, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import type { TaskClient } from "../support/task-client.ts";
import { ELSEWHERE, KILLED, pause, startClient, whyNotElsewhere, windowsOn } from "./task-processes.ts";

const newDatabase = databasesOfFile();
const SPOKEN = { processingMs: 150, audioBytes: PART_BYTES, audioSeconds: 4 };
const CALL = {
  text: buildText("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight"),
  output_format: "pcm",
  max_credits: 5000,
};

/** Longer than the interval at which a process reads what other processes have decided. */
const OBSERVATION_MS = 1500;

/** Lets no task end until the returned function is called, so that parts wait for one of the two running tasks. */
function holdEnds(service: FakeService): () => void {
  service.processingMs = 60_000;
  return () => {
    service.processingMs = 0;
  };
}

async function waitUntil(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    if (await isTrue()) return;
    await pause(10);
  }
  throw new Error("the condition did not become true");
}

/** Waits until the last submissions of a killed process have arrived. Later ones come from another process. */
async function waitUntilIdle(service: FakeService): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const before = service.tasks.size;
    await pause(1000);
    if (service.tasks.size === before) return;
  }
  throw new Error("submissions did not stop arriving");
}

const cancelledMessageOf = async (client: TaskClient, mcpTaskId: string): Promise<string> => {
  const shownTask = await client.fetchTask(mcpTaskId);
  expect(shownTask.status).toBe("cancelled");
  return shownTask.statusMessage ?? "";
};

/** Starts a narration as an MCP task, and cancels the MCP task when another part was submitted. */
async function beginAndCancel(client: TaskClient, service: FakeService): Promise<string> {
  const before = service.tasks.size;
  const mcpTaskId = await client.begin(CALL, "narrate");
  await waitUntil(async () => (await client.fetchTask(mcpTaskId)) !== null && service.tasks.size > before);
  await client.cancel(mcpTaskId);
  return mcpTaskId;
}

describe("a narration whose MCP task is cancelled", () => {
  it("always reports what was saved and charged, never that nothing was", async () => {
    const service = await startService(SPOKEN);
    const start = await windowsOn(service);
    const client = start();
    const mcpTaskId = await client.begin(CALL, "narrate");
    await waitUntil(async () => !/^Part 0/.test((await client.fetchTask(mcpTaskId)).statusMessage ?? ""));
    await client.cancel(mcpTaskId);
    const reported = await cancelledMessageOf(client, mcpTaskId);
    expect(reported).toMatch(/^Cancelled: nothing more is created for this task\. By then [1-7] of 8 parts/);
    expect(reported).toMatch(/ [1-7]0 credits charged; requests already sent are completed, charged/);
    await pause(OBSERVATION_MS);
    const other = start();
    for (const asked of [client, other]) expect(await cancelledMessageOf(asked, mcpTaskId)).toBe(reported);
    const next = await other.begin(CALL, "narrate");
    expect((await other.waitForEnd(next)).status).toBe("completed");
    expect(service.tasks.size).toBe(8);
    expect(await cancelledMessageOf(client, mcpTaskId)).toBe(reported);
  });

  it("reports that another call keeps the narration going", async () => {
    const service = await startService(SPOKEN);
    const start = await windowsOn(service);
    const client = start();
    const mcpTaskId = await client.begin(CALL, "narrate");
    const plain = client.call("narrate", { ...CALL, wait_seconds: 20 }, {});
    await waitUntil(() => service.tasks.size > 2);
    await client.cancel(mcpTaskId);
    expect(await cancelledMessageOf(client, mcpTaskId)).toMatch(
      /Another call had asked .*, so it went on for that one/,
    );
    expect(await plain).toMatchObject({ structuredContent: { status: "finished" } });
  });

  it("stops, even if a killed process had requested it", async () => {
    const service = await startService({ ...SPOKEN, processingMs: 300 });
    const start = await windowsOn(service);
    const killTarget = start(KILLED);
    void killTarget.call("narrate", CALL, {});
    await waitUntil(() => service.tasks.size > 0);
    await killTarget.kill();
    const successor = start();
    await beginAndCancel(successor, service);
    const reported = service.tasks.size;
    await pause(OBSERVATION_MS);
    expect(service.tasks.size).toBeLessThanOrEqual(reported + 1);
  });

  it.each([
    ["taken back", (other: TaskClient, mcpTaskId: string) => other.cancel(mcpTaskId)],
    ["stopped", (other: TaskClient) => other.call("narrate", { ...CALL, stop: true }, {})],
    [
      "given a lower limit",
      (other: TaskClient) => other.call("narrate", { ...CALL, max_credits: 1, wait_seconds: 0 }, {}),
    ],
  ])("creates nothing after it was %s in another process", async (_how, end) => {
    const service = await startService(SPOKEN);
    const start = await windowsOn(service);
    const [toolClient, other] = [start(), start()];
    await other.call("list_tasks", {}, {});
    const release = holdEnds(service);
    const mcpTaskId = await toolClient.begin(CALL, "narrate");
    await waitUntil(() => service.tasks.size === 2);
    await end(other, mcpTaskId);
    release();
    await pause(OBSERVATION_MS);
    expect(service.tasks.size).toBe(2);
  });
});

describe("on another machine", skipBecause(whyNoPostgres() ?? whyNotElsewhere() ?? null), () => {
  it("stops, even if a process there with an expired lease had requested it", async () => {
    const settings = { AUDIO_STORE_URL: await newDatabase() };
    const service = await startService({ ...SPOKEN, processingMs: 300 });
    const killTarget = startClient(await useTestFolders(), service, settings, { under: ELSEWHERE });
    void killTarget.call("narrate", CALL, {});
    await waitUntil(() => service.tasks.size > 0);
    await killTarget.kill();
    await waitUntilIdle(service);
    const successor = startClient(await useTestFolders(), service, settings);
    await beginAndCancel(successor, service);
    const reported = service.tasks.size;
    await pause(OBSERVATION_MS);
    expect(service.tasks.size).toBeLessThanOrEqual(reported + 1);
  });
});

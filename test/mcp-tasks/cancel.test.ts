/**
 * Cancelling an MCP task. If nothing was sent, nothing is paid. Otherwise the audio is paid for and saved. A cancelled
 * MCP task stays cancelled.
 */
import { describe, expect, it } from "vitest";
import { startService } from "../processes/server-processes.ts";
import { holdSubmissions } from "../support/held-submissions.ts";
import { resultOf, type TaskClient } from "../support/task-client.ts";
import { pause, waitForItsTurn, windowsOn } from "./task-processes.ts";

const CALL = { prompt: "Taken back" };

async function startWork(client: TaskClient, args: Record<string, unknown> = CALL): Promise<string> {
  const mcpTaskId = await client.begin(args);
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { statusMessage = "" } = await client.fetchTask(mcpTaskId);
    if (/asked for a pause/.test(statusMessage)) return mcpTaskId;
    await pause(5);
  }
  throw new Error("the task was not put off");
}

describe("an MCP task that is cancelled", () => {
  it("a waiting task is never paid and stays cancelled in every process, and the next call gets a new one", async () => {
    const service = await startService();
    const start = await windowsOn(service);
    const release = holdSubmissions(service);
    const client = start();
    const mcpTaskId = await startWork(client);
    expect((await client.cancel(mcpTaskId)).result).toMatchObject({ resultType: "complete" });
    expect(await client.fetchTask(mcpTaskId)).toMatchObject({ status: "cancelled" });
    release();
    await waitForItsTurn(client);
    expect(service.tasks.size).toBe(1);
    await client.close();
    const successor = start();
    expect(await successor.fetchTask(mcpTaskId)).toMatchObject({ status: "cancelled" });
    expect((await successor.cancel(mcpTaskId)).error).toBeUndefined();
    await waitForItsTurn(successor);
    expect(service.tasks.size).toBe(2);
    const next = await successor.begin(CALL);
    expect(next).not.toBe(mcpTaskId);
    expect(resultOf(await successor.waitForEnd(next)).isError).toBeUndefined();
    expect(await successor.fetchTask(mcpTaskId)).toMatchObject({ status: "cancelled" });
    expect(service.tasks.size).toBe(3);
  });

  it("any process with the MCP task can cancel a task that another process works for", async () => {
    const service = await startService();
    const start = await windowsOn(service);
    const release = holdSubmissions(service);
    const [worker, other] = [start(), start()];
    const mcpTaskId = await startWork(worker);
    expect((await other.cancel(mcpTaskId)).error).toBeUndefined();
    release();
    for (const client of [other, worker])
      expect(await client.fetchTask(mcpTaskId)).toMatchObject({ status: "cancelled" });
    for (const client of [other, worker]) await waitForItsTurn(client);
    expect(service.tasks.size).toBe(2);
  });

  it("an accepted task continues, and is paid and saved", async () => {
    const service = await startService({ processingMs: 400 });
    const start = await windowsOn(service);
    const client = start();
    const mcpTaskId = await client.begin(CALL);
    await client.pollUntil(mcpTaskId, () => service.count("query") > 0);
    for (let times = 0; times < 2; times += 1) expect((await client.cancel(mcpTaskId)).error).toBeUndefined();
    expect((await client.fetchTask(mcpTaskId)).status).toBe("working");
    const done = await client.waitForEnd(mcpTaskId);
    expect(resultOf(done).isError).toBeUndefined();
    // Cancelling an ended task is acknowledged and changes nothing.
    expect((await client.cancel(mcpTaskId)).error).toBeUndefined();
    expect(await client.fetchTask(mcpTaskId)).toEqual(done);
    expect(service.tasks.size).toBe(1);
  });

  it("a task that fails after its cancellation is not repeated", async () => {
    // The task ends only when this test lets it fail, even on a slow machine.
    const service = await startService({ processingMs: 60_000 });
    const start = await windowsOn(service);
    const client = start();
    const mcpTaskId = await client.begin(CALL);
    await client.pollUntil(mcpTaskId, () => service.count("query") > 0);
    await client.cancel(mcpTaskId);
    for (const task of service.tasks.values()) task.status = "failed";
    const result = await client.result(mcpTaskId);
    expect(result.isError).toBe(true);
    expect(service.count("create")).toBe(1);
  });

  it("ends the task, but not the job that a plain call waits for", async () => {
    const service = await startService();
    const start = await windowsOn(service);
    const release = holdSubmissions(service);
    const client = start();
    const mcpTaskId = await startWork(client);
    const plain = client.call("generate_audio", { ...CALL, wait_seconds: 20 }, {});
    await pause(100);
    await client.cancel(mcpTaskId);
    expect(await client.fetchTask(mcpTaskId)).toMatchObject({ status: "cancelled" });
    release();
    expect(await plain).toMatchObject({ structuredContent: { status: "succeeded" } });
    expect(await client.fetchTask(mcpTaskId)).toMatchObject({ status: "cancelled" });
    expect(service.tasks.size).toBe(1);
  });

  it("ends one of two tasks of a text; the other one is made", async () => {
    const service = await startService();
    const start = await windowsOn(service);
    const release = holdSubmissions(service);
    const client = start();
    const [one, two] = [
      await startWork(client),
      await startWork(client, { ...CALL, file_name: "another-name" }),
    ];
    expect(one).not.toBe(two);
    await client.cancel(one);
    release();
    expect(resultOf(await client.waitForEnd(two)).structuredContent).toMatchObject({
      audio: { path: expect.stringMatching(/another-name\.mp3$/) },
    });
    expect(await client.fetchTask(one)).toMatchObject({ status: "cancelled" });
    expect(service.tasks.size).toBe(1);
  });

  it("twice during other requests is cancelled or made, with the same result in every process", async () => {
    const service = await startService({ processingMs: 50 });
    const start = await windowsOn(service);
    const [one, two] = [start(), start()];
    await Promise.all([one, two].map((client) => client.call("list_tasks", {})));
    for (let round = 0; round < 8; round += 1) {
      const tasks = service.tasks.size;
      const mcpTaskId = await one.begin({ prompt: `${CALL.prompt} ${round}` });
      await pause(round * 3);
      await Promise.all([
        one.cancel(mcpTaskId),
        two.cancel(mcpTaskId),
        ...[one, two, one, two, one, two].map((client) => client.fetchTask(mcpTaskId)),
      ]);
      const ends = await Promise.all([one.waitForEnd(mcpTaskId), two.waitForEnd(mcpTaskId)]);
      expect(ends[0].status).toBe(ends[1].status);
      await pause(50);
      expect(service.tasks.size - tasks).toBe(ends[0].status === "cancelled" ? 0 : 1);
      expect((await two.fetchTask(mcpTaskId)).status).toBe(ends[0].status);
    }
  });
});

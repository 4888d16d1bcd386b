/**
 * Concurrent requests, cancellations and calls for one text. The service gets one task, and every process reports the
 * same end.
 */
import { describe, expect, it } from "vitest";
import { startService } from "../processes/server-processes.ts";
import { holdSubmissions } from "../support/held-submissions.ts";
import { databasesOfFile, whyNoPostgres } from "../support/postgres-server.ts";
import { resultOf } from "../support/task-client.ts";
import { machinesOn, pause, type Store } from "./task-processes.ts";

const CALL = { prompt: "All at once" };
const stores: Store[] = whyNoPostgres() === undefined ? ["sqlite", "postgres"] : ["sqlite"];
const newDatabase = databasesOfFile();
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe.each(stores)("on %s", (store) => {
  it("a plain call and tasks of the same text are one task at the service", async () => {
    // The task ends only after all calls have arrived, even on a slow machine, because a late call would get the result
    // at once.
    const service = await startService({ processingMs: 60_000 });
    const start = await machinesOn(store, service, newDatabase);
    const [{ client: one }, { client: two }] = await Promise.all([start(), start()]);
    const called = one.call("generate_audio", CALL, {});
    const mcpTaskIds = await Promise.all(times(4, (index) => (index % 2 === 0 ? one : two).begin(CALL)));
    service.processingMs = 100;
    const plain = await called;
    expect(plain).toMatchObject({ structuredContent: { status: "succeeded" } });
    expect(new Set(mcpTaskIds).size).toBe(1);
    for (const client of [one, two])
      expect(resultOf(await client.waitForEnd(mcpTaskIds[0] ?? "")).isError).toBeUndefined();
    expect(service.tasks.size).toBe(1);
  });

  it("concurrent requests for the MCP task of a dead process make one task", async () => {
    const service = await startService({ processingMs: 100 });
    const start = await machinesOn(store, service, newDatabase);
    const release = holdSubmissions(service);
    const { client: killTarget } = await start();
    const mcpTaskId = await killTarget.begin(CALL);
    await killTarget.kill();
    release();
    const successors = await Promise.all(times(3, () => start()));
    await Promise.all(successors.flatMap(({ client }) => times(3, () => client.fetchTask(mcpTaskId))));
    const ends = await Promise.all(successors.map(({ client }) => client.waitForEnd(mcpTaskId)));
    for (const end of ends) expect(resultOf(end).isError).toBeUndefined();
    expect(service.tasks.size).toBe(1);
  });

  it("an MCP task cancelled twice during other requests is cancelled or made, with the same result in every process", async () => {
    const service = await startService({ processingMs: 50 });
    const start = await machinesOn(store, service, newDatabase);
    const [{ client: one }, { client: two }] = await Promise.all([start(), start()]);
    await Promise.all([one, two].map((client) => client.call("list_tasks", {})));
    for (let round = 0; round < 8; round += 1) {
      const tasks = service.tasks.size;
      const mcpTaskId = await one.begin({ prompt: `${CALL.prompt} ${round}` });
      await pause(round * 3);
      await Promise.all([
        one.cancel(mcpTaskId),
        two.cancel(mcpTaskId),
        ...times(3, () => one.fetchTask(mcpTaskId)),
        ...times(3, () => two.fetchTask(mcpTaskId)),
      ]);
      const ends = await Promise.all([one.waitForEnd(mcpTaskId), two.waitForEnd(mcpTaskId)]);
      expect(ends[0].status).toBe(ends[1].status);
      await pause(50);
      expect(service.tasks.size - tasks).toBe(ends[0].status === "cancelled" ? 0 : 1);
      expect((await two.fetchTask(mcpTaskId)).status).toBe(ends[0].status);
    }
  });

  it("two processes share the free retry of one task", async () => {
    // The first task fails only after both calls have arrived, because a late call would get the finished audio at
    // once.
    const service = await startService({ processingMs: 60_000 });
    let haveBegun = false;
    service.intercept = ({ kind }) => {
      if (kind === "query" && haveBegun && service.tasks.size === 1) {
        for (const task of service.tasks.values()) task.status = "failed";
      }
      return false;
    };
    const start = await machinesOn(store, service, newDatabase);
    const [{ client: one }, { client: two }] = await Promise.all([start(), start()]);
    const mcpTaskIds = await Promise.all([one.begin(CALL), two.begin(CALL)]);
    expect(mcpTaskIds[0]).toBe(mcpTaskIds[1]);
    haveBegun = true;
    service.processingMs = 200;
    const ends = await Promise.all([one.waitForEnd(mcpTaskIds[0]), two.waitForEnd(mcpTaskIds[0])]);
    for (const end of ends) expect(resultOf(end).isError).toBeUndefined();
    expect(service.tasks.size).toBe(2);
  });

  it("a process killed at any time leaves one task with one end", async () => {
    const service = await startService({ processingMs: 150 });
    const start = await machinesOn(store, service, newDatabase);
    let { client: killTarget } = await start();
    for (let round = 0; round < 6; round += 1) {
      const tasks = service.tasks.size;
      const mcpTaskId = await killTarget.begin({ prompt: `Killed ${round}`, file_name: `killed-${round}` });
      await pause(round * 50);
      await killTarget.kill();
      const { client: successor } = await start();
      expect(resultOf(await successor.waitForEnd(mcpTaskId)).structuredContent).toMatchObject({
        status: "succeeded",
        audio: { path: expect.stringMatching(new RegExp(`/killed-${round}\\.mp3$`)) },
      });
      expect(service.tasks.size - tasks).toBe(1);
      killTarget = successor;
    }
  });
});

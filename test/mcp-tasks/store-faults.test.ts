/** If the store is unavailable, a request about an MCP task gets a protocol error, and the MCP task continues. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { startService, useTestFolders } from "../processes/server-processes.ts";
import { DELETE_REQUESTS_SQL } from "../support/ledger-rows.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { resultOf } from "../support/task-client.ts";
import { startClient } from "./task-processes.ts";

const CALL = { prompt: "While the store is away" };

async function onPostgres(processingMs: number) {
  const postgres = await PostgresServer.start();
  onTestFinished(() => postgres.remove());
  const service = await startService({ processingMs });
  const client = startClient(await useTestFolders(), service, { AUDIO_STORE_URL: postgres.url });
  return { postgres, service, client };
}

it.skipIf(whyNoPostgres() !== undefined)("a call is refused with a reason, and nothing is sent", async () => {
  const { postgres, service, client } = await onPostgres(0);
  await postgres.kill();
  expect(await client.call("generate_audio", CALL)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/^store_unavailable/) }],
  });
  expect(service.exchanges).toEqual([]);
  await postgres.start();
  expect(resultOf(await client.waitForEnd(await client.begin(CALL))).isError).toBeUndefined();
});

it.skipIf(whyNoPostgres() !== undefined)(
  "a query and a cancellation are -32603, and the task is working again afterwards",
  async () => {
    const { postgres, service, client } = await onPostgres(1000);
    const mcpTaskId = await client.begin(CALL);
    while (service.count("query") === 0) await client.fetchTask(mcpTaskId);
    await postgres.kill();
    expect(await client.refusal("tasks/get", { taskId: mcpTaskId })).toBe(-32603);
    expect(await client.refusal("tasks/cancel", { taskId: mcpTaskId })).toBe(-32603);
    await postgres.start();
    expect((await client.fetchTask(mcpTaskId)).status).toBe("working");
    expect(resultOf(await client.waitForEnd(mcpTaskId)).isError).toBeUndefined();
    expect(service.tasks.size).toBe(1);
  },
);

it.skipIf(whyNoPostgres() !== undefined)(
  "a task that ends while the store is unreachable is reported as ended when it is back",
  async () => {
    const { postgres, service, client } = await onPostgres(300);
    const mcpTaskId = await client.begin(CALL);
    while (service.count("query") === 0) await client.fetchTask(mcpTaskId);
    await postgres.kill();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await client.refusal("tasks/get", { taskId: mcpTaskId })).toBe(-32603);
    await postgres.start();
    expect(resultOf(await client.waitForEnd(mcpTaskId)).isError).toBeUndefined();
    expect(service.tasks.size).toBe(1);
  },
);

it("a record missing from the ledger does not end its task", async () => {
  const service = await startService({ processingMs: 1000 });
  const testFolders = await useTestFolders();
  const client = startClient(testFolders, service);
  const mcpTaskId = await client.begin(CALL);
  while (service.count("query") === 0) await client.fetchTask(mcpTaskId);
  const ledger = new DatabaseSync(join(testFolders.stateDir, "ledger.sqlite"), { timeout: 5000 });
  ledger.exec(DELETE_REQUESTS_SQL);
  ledger.close();
  expect((await client.fetchTask(mcpTaskId)).status).toBe("working");
  expect(resultOf(await client.waitForEnd(mcpTaskId)).isError).toBeUndefined();
  expect(service.tasks.size).toBe(1);
});

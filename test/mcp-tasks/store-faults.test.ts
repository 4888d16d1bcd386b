/** If the store is unavailable, a request about an MCP task gets a protocol error, and the MCP task continues. */
import { expect, it, onTestFinished } from "vitest";
import { startService, useTestFolders } from "../processes/server-processes.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { resultOf } from "../support/task-client.ts";
import { startClient } from "./task-processes.ts";

it(
  "a query and a cancellation are -32603, and the task is working again afterwards",
  skipBecause(whyNoPostgres()),
  async () => {
    const postgres = await PostgresServer.start();
    onTestFinished(() => postgres.remove());
    const service = await startService({ processingMs: 1000 });
    const client = startClient(await useTestFolders(), service, { AUDIO_STORE_URL: postgres.url });
    const mcpTaskId = await client.begin({ prompt: "While the store is away" });
    await client.pollUntil(mcpTaskId, () => service.count("query") > 0);
    await postgres.kill();
    expect(await client.refusal("tasks/get", { taskId: mcpTaskId })).toBe(-32603);
    expect(await client.refusal("tasks/cancel", { taskId: mcpTaskId })).toBe(-32603);
    await postgres.start();
    expect((await client.fetchTask(mcpTaskId)).status).toBe("working");
    expect(resultOf(await client.waitForEnd(mcpTaskId)).isError).toBeUndefined();
    expect(service.tasks.size).toBe(1);
  },
);

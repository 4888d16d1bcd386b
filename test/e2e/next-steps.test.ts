/** The next steps in results must be true, such as after a cancellation, a changed API key, a lost file or a 404. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { z } from "zod";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, generate } from "../support/tool-result.ts";

const OTHER_KEY = "sk-other-0123456789abcdef";

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));

const rows = z.object({
  tasks: z.array(z.looseObject({ status: z.string(), next_step: z.string() })),
});

async function firstRow(from: ToolClient) {
  const { tasks } = rows.parse((await from.call("list_tasks", {})).structuredContent);
  return tasks[0];
}

it.each([
  [503, "api_unavailable"],
  [429, "rate_limit"],
])("a cancelled call that the service had put off with %d makes no task afterwards", async (status, code) => {
  service.refuseEvery("create", status, code);
  const cancelling = new AbortController();
  const call = client.call("generate_audio", { prompt: "Never mind" }, { signal: cancelling.signal });
  await expect.poll(() => service.count("create")).toBeGreaterThan(0);
  cancelling.abort();
  await expect(call).rejects.toThrow();
  await sleep(100);
  const before = service.count("create");
  service.intercept = undefined;
  // Wait longer than the pause of the 429 (600 ms at this time scale) and the longest backoff (300 ms) together.
  await sleep(1200);
  expect(service.count("create")).toBe(before);
  expect(service.tasks.size).toBe(0);
});

it("list_tasks warns that repeating another key's request may cost credits", async () => {
  service.intercept = ({ kind }, response) => {
    if (kind === "create") response.destroy();
    return kind === "create";
  };
  await client.call("generate_audio", { prompt: "Whose is it", wait_seconds: 1 });
  await client.close();
  const address = { baseUrl: service.baseUrl, apiKey: OTHER_KEY };
  const later = await startToolClient(testFolders.env(address, FAST));
  const row = await firstRow(later);
  await later.close();
  expect(row?.status).toBe("unresolved");
  expect(row?.next_step).toMatch(/earlier API key.*may cost credits/);
});

it("a later attempt that the service refuses stays in the ledger, and the next call continues from it", async () => {
  service.processingMs = 100;
  service.intercept = ({ kind, ordinal }, response) => {
    if (kind === "query" && ordinal === 1) for (const task of service.tasks.values()) task.status = "failed";
    if (kind === "create" && ordinal === 2) service.refuse(response, 402, "insufficient_credits");
    return kind === "create" && ordinal === 2;
  };
  const call = { prompt: "Second attempt" };
  // The first task fails, and the service refuses its free retry.
  expect(errorOf(await client.call("generate_audio", call)).code).toBe("insufficient_credits");
  expect((await firstRow(client))?.status).toBe("waiting");
  expect((await generate(client, call)).status).toBe("succeeded");
  const keys = service.exchanges.filter(({ kind }) => kind === "create").map(({ key }) => key);
  expect(keys).toHaveLength(3);
  expect(keys[1]).toBe(keys[2]);
  expect(keys[0]).not.toBe(keys[1]);
});

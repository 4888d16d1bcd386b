/** The next steps in results must be true, such as after a cancellation, a changed API key, a lost file or a 404. */
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { FAST } from "../support/bin-under-test.ts";
import { setUpEach } from "../support/e2e-setup.ts";
import type { FakeService } from "../support/fake-service.ts";
import type { TestFolders } from "../support/test-folders.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf, taskOf } from "../support/tool-result.ts";

const OTHER_KEY = "sk-other-0123456789abcdef";

let service: FakeService;
let testFolders: TestFolders;
let client: ToolClient;

setUpEach((setup) => {
  ({ service, testFolders, client } = setup);
  return () => client;
});

const rows = z.object({
  tasks: z.array(z.looseObject({ status: z.string(), next_step: z.string() })),
});

async function firstRow(from: ToolClient) {
  const { tasks } = rows.parse((await from.call("list_tasks", {})).structuredContent);
  return tasks[0];
}

describe("a cancelled call", () => {
  it.each([
    [503, "api_unavailable"],
    [429, "rate_limit"],
  ])("that the service had put off with %d makes no task afterwards", async (status, code) => {
    service.intercept = ({ kind }, response) => {
      if (kind !== "create") return false;
      service.refuse(response, status, code);
      return true;
    };
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
});

describe("list_tasks", () => {
  it("does not report audio as saved if its file is gone", async () => {
    const createdTask = taskOf(await client.call("generate_audio", { prompt: "Here and gone" }));
    expect(await firstRow(client)).toMatchObject({ audio_path: createdTask.audio?.path });
    await rm(createdTask.audio?.path ?? "");
    const row = await firstRow(client);
    expect(row).toMatchObject({ status: "succeeded", missing_path: createdTask.audio?.path });
    expect(row?.next_step).toContain(`download_audio with task_id ${createdTask.task_id}`);
  });

  it("warns that repeating another key's request may cost credits", async () => {
    service.intercept = ({ kind }, response) => {
      if (kind === "create") response.destroy();
      return kind === "create";
    };
    await client.call("generate_audio", { prompt: "Whose is it", wait_seconds: 1 });
    await client.close();
    client = await startToolClient(testFolders.env({ baseUrl: service.baseUrl, apiKey: OTHER_KEY }, FAST));
    const row = await firstRow(client);
    expect(row?.status).toBe("unresolved");
    expect(row?.next_step).toMatch(/earlier API key.*may cost credits/);
  });
});

describe("a 404", () => {
  it("to a submission blames the address", async () => {
    service.intercept = (_exchange, response) => {
      service.refuse(response, 404, "not_found");
      return true;
    };
    const outcome = await client.call("generate_audio", { prompt: "Nobody here" });
    expect(errorOf(outcome)).toMatchObject({ code: "not_found", task_id: null });
    expect(resultTextOf(outcome)).toMatch(/AUDIO_BASE_URL/);
  });
});

describe("a later attempt that the service refuses", () => {
  it("stays in the ledger, and the next call continues from it", async () => {
    service.processingMs = 100;
    service.intercept = ({ kind, ordinal }, response) => {
      if (kind === "query" && ordinal === 1)
        for (const task of service.tasks.values()) task.status = "failed";
      if (kind === "create" && ordinal === 2) service.refuse(response, 402, "insufficient_credits");
      return kind === "create" && ordinal === 2;
    };
    const call = { prompt: "Second attempt" };
    // The first task fails, and the service refuses its free retry.
    expect(errorOf(await client.call("generate_audio", call)).code).toBe("insufficient_credits");
    expect((await firstRow(client))?.status).toBe("waiting");
    expect(taskOf(await client.call("generate_audio", call)).status).toBe("succeeded");
    const keys = service.exchanges.filter(({ kind }) => kind === "create").map(({ key }) => key);
    expect(keys).toHaveLength(3);
    expect(keys[1]).toBe(keys[2]);
    expect(keys[0]).not.toBe(keys[1]);
  });
});

describe("a server without settings", () => {
  it("asks for the settings first, even if the arguments are invalid", async () => {
    const bare = await startToolClient(testFolders.env(null));
    for (const name of ["generate_audio", "get_task", "download_audio", "list_tasks"]) {
      const outcome = await bare.call(name, { nonsense: true });
      expect(errorOf(outcome).code).toBe("configuration_error");
      expect(resultTextOf(outcome)).toMatch(
        /AUDIO_BASE_URL is not set.*AUDIO_API_KEY is not set.*Nothing was sent or charged/,
      );
    }
    expect((await bare.call("list_voices", {})).structuredContent).toMatchObject({ count: VOICE_IDS.length });
    await bare.close();
  });
});

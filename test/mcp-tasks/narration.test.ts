/**
 * A narration as an MCP task. It continues within its limit in any process that gets a request for the MCP task, and
 * never after a cancellation.
 */
import { existsSync } from "node:fs";
import { CreateTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { describe, expect, it } from "vitest";
import { buildText, narrationOutput, PART_BYTES } from "../narration/narrator.ts";
import { startService, useTestFolders } from "../processes/server-processes.ts";
import { holdSubmissions } from "../support/held-submissions.ts";
import { resultOf, TASKS, type TaskNow } from "../support/task-client.ts";
import { KILLED, startClient, windowsOn } from "./task-processes.ts";

const SPOKEN = { processingMs: 100, audioBytes: PART_BYTES, audioSeconds: 4 };
const CALL = { text: buildText("One", "Two", "Three"), output_format: "pcm", max_credits: 1000 };

const narrationOf = (now: TaskNow) => narrationOutput.parse(resultOf(now).structuredContent);

it("a narration as an MCP task is polled until its file is saved, and another process reports the same", async () => {
  const service = await startService({ ...SPOKEN, processingMs: 500 });
  const start = await windowsOn(service);
  const client = start();
  const mcpTaskId = await client.begin(CALL, "narrate");
  expect(await client.begin(CALL, "narrate")).toBe(mcpTaskId);
  expect(await client.fetchTask(mcpTaskId)).toMatchObject({
    status: "working",
    statusMessage: expect.stringMatching(/^Part \d of 3 saved/),
  });
  const done = await client.waitForEnd(mcpTaskId);
  const reported = narrationOf(done);
  expect(reported).toMatchObject({
    status: "finished",
    parts: { saved: 3 },
    credits: { charged: 30, max: 1000 },
  });
  expect(existsSync(reported.files[0]?.path ?? "")).toBe(true);
  const other = start();
  expect(narrationOf(await other.fetchTask(mcpTaskId)).files).toEqual(reported.files);
  expect(service.count("create")).toBe(3);
  // The narration has ended, so a call that finds its file is not answered as an MCP task.
  expect(await client.call("narrate", CALL)).toMatchObject({ structuredContent: { status: "finished" } });
  // On another machine the file has to be fetched first, free of charge.
  const fetched = CreateTaskResultV2Schema.safeParse(await other.call("narrate", CALL));
  if (fetched.success)
    expect(narrationOf(await other.waitForEnd(fetched.data.taskId)).status).toBe("finished");
  expect(service.count("create")).toBe(3);
});

it("a narration as an MCP task continues within its limit in a new process after its own was killed", async () => {
  const service = await startService(SPOKEN);
  const start = await windowsOn(service);
  const killTarget = start(KILLED);
  const mcpTaskId = await killTarget.begin(CALL, "narrate");
  await killTarget.pollUntil(mcpTaskId, () => service.tasks.size > 0);
  await killTarget.kill();
  const successor = start();
  expect(narrationOf(await successor.waitForEnd(mcpTaskId))).toMatchObject({
    status: "finished",
    credits: { max: 1000 },
  });
  expect(service.tasks.size).toBe(3);
});

describe("a narration", () => {
  it("without a limit, or with a limit of 0, returns at once", async () => {
    const service = await startService(SPOKEN);
    const client = startClient(await useTestFolders(), service);
    const { max_credits: _, ...plan } = CALL;
    expect(await client.call("narrate", plan)).toMatchObject({ structuredContent: { status: "planned" } });
    const nothing = { ...CALL, max_credits: 0 };
    expect(await client.call("narrate", nothing)).toMatchObject({ structuredContent: { status: "planned" } });
    expect(service.exchanges).toEqual([]);
  });

  it("asks the person for the limit before it becomes a task", async () => {
    const service = await startService(SPOKEN);
    const client = startClient(await useTestFolders(), service);
    const { max_credits: _, ...args } = CALL;
    const capabilities = { ...TASKS, elicitation: { form: {} } };
    const params = { name: "narrate", arguments: args };
    const asked = await client.request("tools/call", params, capabilities);
    expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { max_credits: {} } });
    expect(service.exchanges).toEqual([]);
    const inputResponses = { max_credits: { action: "accept", content: { max_credits: 900 } } };
    const begun = await client.request("tools/call", { ...params, inputResponses }, capabilities);
    expect(begun.result).toMatchObject({ resultType: "task", status: "working" });
    const done = narrationOf(await client.waitForEnd(String(begun.result?.["taskId"])));
    expect(done).toMatchObject({ status: "finished", credits: { max: 900 } });
  });

  it("that a call stops ends its task with the current status", async () => {
    const service = await startService(SPOKEN);
    const client = startClient(await useTestFolders(), service);
    const release = holdSubmissions(service);
    const mcpTaskId = await client.begin(CALL, "narrate");
    await client.call("narrate", { ...CALL, stop: true }, {});
    expect(narrationOf(await client.waitForEnd(mcpTaskId))).toMatchObject({
      status: "stopped",
      problems: [{ code: "stopped" }],
    });
    release();
  });

  it("has MCP tasks that are unknown to other accounts, even if they know the text", async () => {
    const service = await startService({
      ...SPOKEN,
      apiKeys: ["sk-first-0123456789abcdef", "sk-second-0123456789abcdef"],
    });
    const testFolders = await useTestFolders();
    const own = startClient(testFolders, service);
    const mcpTaskId = await own.begin(CALL, "narrate");
    const apiKey = "sk-second-0123456789abcdef";
    const foreign = startClient(testFolders, { baseUrl: service.baseUrl, apiKey });
    const forged = `${mcpTaskId.slice(0, -1)}${mcpTaskId.endsWith("0") ? "1" : "0"}`;
    for (const taskId of [mcpTaskId, forged]) {
      expect(await foreign.refusal("tasks/get", { taskId })).toBe(-32602);
      expect(await foreign.refusal("tasks/cancel", { taskId })).toBe(-32602);
    }
    expect(await own.refusal("tasks/get", { taskId: forged })).toBe(-32602);
    expect(narrationOf(await own.waitForEnd(mcpTaskId)).status).toBe("finished");
  });
});

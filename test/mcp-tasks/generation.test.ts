/** A call that is answered as an MCP task, with the built bin: until its file is saved, in any process. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { holdSubmissions } from "../support/held-submissions.ts";
import { resultOf, TASKS, TaskClient } from "../support/task-client.ts";
import { taskOutput } from "../support/tool-result.ts";
import { pause } from "./task-processes.ts";

const service = openServiceEach({ processingMs: 100 });
const testFolders = openFoldersEach();
const open: TaskClient[] = [];

function start(more: Record<string, string> = {}): TaskClient {
  const client = new TaskClient(testFolders.env(service, { ...FAST, ...more }), { isInProcess: true });
  open.push(client);
  return client;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

const CALL = { prompt: "As a task" };

const audioPath = ({ structuredContent }: { structuredContent?: unknown }): string =>
  taskOutput.parse(structuredContent).audio?.path ?? "";

describe("a call as a task", () => {
  it("returns an MCP task, whose result equals that of a plain call", async () => {
    const client = start();
    const created = await client.call("generate_audio", CALL);
    expect(created).toMatchObject({
      resultType: "task",
      status: "working",
      ttlMs: null,
      pollIntervalMs: 1000,
      statusMessage: expect.not.stringMatching(/Another window/),
    });
    const mcpTaskId = String(Reflect.get(created, "taskId"));
    const done = await client.waitForEnd(mcpTaskId);
    expect(done).toMatchObject({ status: "completed", taskId: mcpTaskId });
    const task = taskOutput.parse(resultOf(done).structuredContent);
    expect(task).toMatchObject({ status: "succeeded", replayed: false });
    expect(existsSync(task.audio?.path ?? "")).toBe(true);
    expect(service.count("create")).toBe(1);
    // Saved audio is returned directly and not as an MCP task.
    const again = await client.call("generate_audio", CALL);
    expect(again).toMatchObject({ structuredContent: { replayed: true } });
    expect(await client.fetchTask(mcpTaskId)).toEqual(done);
  });

  it("has the file name and content of its own call, even if another call of the same text has others", async () => {
    const client = start();
    const release = holdSubmissions(service);
    const [one, two] = [
      await client.begin({ ...CALL, file_name: "one" }),
      await client.begin({ ...CALL, file_name: "two" }),
    ];
    expect(one).not.toBe(two);
    expect(await client.begin({ ...CALL, file_name: "one" })).toBe(one);
    release();
    for (const [mcpTaskId, name] of [
      [one, "one.mp3"],
      [two, "two.mp3"],
    ] as const) {
      expect(audioPath(await client.result(mcpTaskId))).toMatch(new RegExp(`/${name}$`));
    }
    expect(service.tasks.size).toBe(1);
  });

  it("stays completed when its file is removed, and a look at it fetches the file again", async () => {
    const client = start();
    const mcpTaskId = await client.begin(CALL);
    const path = audioPath(await client.result(mcpTaskId));
    await rm(path);
    const looked = resultOf(await client.fetchTask(mcpTaskId));
    expect(looked.structuredContent).toMatchObject({ status: "succeeded" });
    await expect.poll(() => existsSync(path)).toBe(true);
    expect(audioPath(resultOf(await client.fetchTask(mcpTaskId)))).toBe(path);
    expect(service.count("create")).toBe(1);
  });

  it("returns a plain error if it is refused before anything is sent", async () => {
    const client = start();
    const refused = await client.call("generate_audio", { ...CALL, file_name: "../out" });
    expect(refused).toMatchObject({ isError: true });
    expect(await client.call("generate_audio", { prompt: "" })).toMatchObject({ isError: true });
    expect(service.exchanges).toEqual([]);
  });

  it("reports a refusal in every process, also after a later call succeeded", async () => {
    const client = start();
    service.refuseEvery("create", 402, "insufficient_credits");
    const mcpTaskId = await client.begin(CALL);
    const reported = await client.waitForEnd(mcpTaskId);
    expect(resultOf(reported)).toMatchObject({
      isError: true,
      content: [
        {
          text: expect.stringMatching(
            /^insufficient_credits: .*\nWhat to do: Nothing was charged.*this text would then cost/,
          ),
        },
      ],
    });
    expect(await client.fetchTask(mcpTaskId)).toEqual(reported);
    expect((await client.cancel(mcpTaskId)).error).toBeUndefined();
    const other = start();
    expect(await other.fetchTask(mcpTaskId)).toEqual(reported);
    service.intercept = undefined;
    const next = await other.begin(CALL);
    expect(next).not.toBe(mcpTaskId);
    expect(resultOf(await other.waitForEnd(next)).isError).toBeUndefined();
    expect(await client.fetchTask(mcpTaskId)).toEqual(reported);
  });

  it("keeps its MCP task during the free retry of a failed task", async () => {
    const client = start();
    service.intercept = (exchange) => {
      if (exchange.kind === "query" && service.tasks.size === 1) {
        for (const task of service.tasks.values()) task.status = "failed";
      }
      return false;
    };
    const mcpTaskId = await client.begin(CALL);
    expect(resultOf(await client.waitForEnd(mcpTaskId)).structuredContent).toMatchObject({
      status: "succeeded",
    });
    expect(service.tasks.size).toBe(2);
  });

  it("sends no progress, even if its call has a token", async () => {
    const client = start();
    const { result } = await client.request("tools/call", {
      name: "generate_audio",
      arguments: CALL,
      _meta: { progressToken: "token" },
    });
    await client.waitForEnd(String(result?.["taskId"]));
    expect(client.messages.filter((message) => Object.hasOwn(Object(message), "method"))).toEqual([]);
  });

  it("is dropped if its client gives up before the response, and the same call resumes it", async () => {
    const client = start();
    const release = holdSubmissions(service);
    await client.call("list_tasks", {});
    for (let times = 0; times < 20; times += 1) {
      const answered = client.request("tools/call", { name: "generate_audio", arguments: CALL });
      await pause(times / 4);
      client.send({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: client.lastId },
      });
      await Promise.race([answered, pause(30)]);
    }
    release();
    const mcpTaskId = await client.begin(CALL);
    expect(resultOf(await client.waitForEnd(mcpTaskId)).structuredContent).toMatchObject({
      status: "succeeded",
    });
    expect(service.tasks.size).toBe(1);
  });
});

it("a request that does not declare the extension gets a plain result, and cannot request tasks", async () => {
  const client = start();
  expect(await client.call("generate_audio", CALL, {})).toMatchObject({
    structuredContent: { status: "succeeded" },
  });
  const mcpTaskId = await client.begin({ prompt: "Declared for this call alone" });
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    const { error } = await client.request(method, { taskId: mcpTaskId, inputResponses: {} }, {});
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: TASKS } });
    expect(await client.refusal(method, {}, {})).toBe(-32021);
  }
  expect((await client.waitForEnd(mcpTaskId)).status).toBe("completed");
});

it("a request that does not declare the extension with an older protocol does not see the extension", async () => {
  const client = start();
  client.send({
    jsonrpc: "2.0",
    id: 1000,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: TASKS,
      clientInfo: { name: "older", version: "1" },
    },
  });
  client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  client.send({
    jsonrpc: "2.0",
    id: 1001,
    method: "tools/call",
    params: {
      name: "generate_audio",
      arguments: CALL,
      _meta: { "io.modelcontextprotocol/clientCapabilities": TASKS },
    },
  });
  client.send({ jsonrpc: "2.0", id: 1002, method: "tasks/get", params: { taskId: "x" } });
  await vi.waitFor(() => expect(client.messages).toHaveLength(3), 10_000);
  const answers = new Map(client.messages.map((message) => [Reflect.get(Object(message), "id"), message]));
  expect(JSON.stringify(answers.get(1000))).not.toContain("io.modelcontextprotocol/tasks");
  expect(answers.get(1001)).toMatchObject({ result: { structuredContent: { status: "succeeded" } } });
  expect(answers.get(1002)).toMatchObject({ error: { code: -32601 } });
});

describe("the protocol", () => {
  it("announces the extension in the discovery, and nothing of the older tasks", async () => {
    const { result } = await start().request("server/discover", {}, {});
    expect(result).toMatchObject({ capabilities: TASKS });
    expect(result?.["capabilities"]).not.toHaveProperty("tasks");
  });

  it("does not support tasks/result and tasks/list, and ignores params.task", async () => {
    const client = start();
    for (const method of ["tasks/result", "tasks/list"]) {
      expect(await client.refusal(method, { taskId: "x" })).toBe(-32601);
    }
    const params = { name: "list_voices", arguments: { language: "pt" }, task: { ttl: 1 } };
    expect((await client.request("tools/call", params)).result).toMatchObject({ resultType: "complete" });
  });

  it("refuses MCP tasks of every kind that it did not create", async () => {
    const client = start();
    const mcpTaskId = await client.begin(CALL);
    await client.waitForEnd(mcpTaskId);
    const { structuredContent } = resultOf(await client.fetchTask(mcpTaskId));
    const unknownMethods = [
      "",
      taskOutput.parse(structuredContent).task_id ?? "",
      `req-${mcpTaskId.replaceAll("-", "")}`,
      `nar_${mcpTaskId.replaceAll("-", "")}`,
      `${mcpTaskId.slice(0, -1)}${mcpTaskId.endsWith("0") ? "1" : "0"}`,
      mcpTaskId.replaceAll("-", ""),
      `urn:uuid:${mcpTaskId}`,
      `${mcpTaskId} `,
      `${mcpTaskId}\0`,
      `${mcpTaskId}' OR '1'='1`,
      "../../etc/passwd",
      "x".repeat(100_000),
      "💥",
      "__proto__",
    ];
    for (const taskId of unknownMethods) {
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
        expect(await client.refusal(method, { taskId, inputResponses: {} }), taskId.slice(0, 80)).toBe(
          -32602,
        );
      }
    }
    for (const taskId of [undefined, null, 1, true, [], {}]) {
      expect(await client.refusal("tasks/get", { taskId })).toBe(-32602);
    }
    expect(
      (await client.request("tasks/update", { taskId: mcpTaskId, inputResponses: { x: {} } })).result,
    ).toMatchObject({
      resultType: "complete",
    });
    expect((await client.fetchTask(mcpTaskId)).status).toBe("completed");
  });

  it("reports missing settings for every request", async () => {
    const client = new TaskClient(testFolders.env(null), { isInProcess: true });
    open.push(client);
    const { error } = await client.request("tasks/get", { taskId: "x" });
    expect(error).toMatchObject({ code: -32603, message: expect.stringMatching(/^configuration_error/) });
  });
});

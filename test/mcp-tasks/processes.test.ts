/** An MCP task outlives its process. Any process on the same store resumes it, and all report the same end. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startService, useTestFolders } from "../processes/server-processes.ts";
import { holdSubmissions } from "../support/held-submissions.ts";
import { databasesOfFile, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { resultOf } from "../support/task-client.ts";
import { taskOutput } from "../support/tool-result.ts";
import { ELSEWHERE, KILLED, machinesOn, type Store, startClient, whyNotElsewhere } from "./task-processes.ts";

const CALL = { prompt: "A task that outlives its process", file_name: "outlives" };

const audioOf = (structured: unknown) => taskOutput.parse(structured).audio;
const STORES: ReadonlyArray<{ store: Store; whyNot: string | null }> = [
  { store: "sqlite", whyNot: null },
  { store: "postgres", whyNot: whyNoPostgres() },
];
const newDatabase = databasesOfFile();

for (const { store, whyNot } of STORES)
  describe(`on ${store}`, skipBecause(whyNot), () => {
    it("a new process resumes the running task of a killed process by its MCP task", async () => {
      const service = await startService({ processingMs: 400 });
      const start = await machinesOn(store, service, newDatabase);
      const { client: killTarget } = await start();
      const mcpTaskId = await killTarget.begin(CALL);
      await killTarget.pollUntil(mcpTaskId, () => service.count("query") > 0);
      await killTarget.kill();
      const { client: successor } = await start();
      const result = await successor.result(mcpTaskId);
      const audio = audioOf(result.structuredContent);
      expect(existsSync(audio?.path ?? "")).toBe(true);
      expect(audio?.path).toMatch(/outlives\.mp3$/);
      expect(result.content[0]?.text).toMatch(/Saved .*task_id task-/);
      expect(service.count("create")).toBe(1);
    });

    it("a new process sends once what a killed process had not sent yet", async () => {
      const service = await startService();
      const start = await machinesOn(store, service, newDatabase);
      const release = holdSubmissions(service);
      const { client: killTarget } = await start();
      const mcpTaskId = await killTarget.begin(CALL);
      expect(await killTarget.fetchTask(mcpTaskId)).toMatchObject({ status: "working" });
      await killTarget.kill();
      release();
      const { client: successor } = await start();
      expect(audioOf((await successor.result(mcpTaskId)).structuredContent)?.path).toMatch(/outlives\.mp3$/);
      expect(service.tasks.size).toBe(1);
    });

    it("any process that polls resolves a submission without a response", async () => {
      const service = await startService();
      const start = await machinesOn(store, service, newDatabase);
      const { client: killTarget } = await start();
      const reached = new Promise<void>((resolve) => {
        service.intercept = (exchange) => {
          if (exchange.kind !== "create") return false;
          service.accept(exchange);
          resolve();
          return true;
        };
      });
      const mcpTaskId = await killTarget.begin(CALL);
      await reached;
      await killTarget.kill();
      service.intercept = undefined;
      const { client: successor } = await start();
      expect((await successor.waitForEnd(mcpTaskId)).status).toBe("completed");
      expect(service.tasks.size).toBe(1);
    });

    it("two processes get the same from one MCP task, at the same time and long after its end", async () => {
      const service = await startService({ processingMs: 300 });
      const start = await machinesOn(store, service, newDatabase);
      const [{ client: first }, { client: second }] = await Promise.all([start(), start()]);
      const release = holdSubmissions(service);
      const mcpTaskId = await first.begin(CALL);
      expect(await second.fetchTask(mcpTaskId)).toMatchObject({
        status: "working",
        statusMessage: expect.stringMatching(/^[A-Z].*\.$/),
      });
      release();
      const ends = await Promise.all([first.waitForEnd(mcpTaskId), second.waitForEnd(mcpTaskId)]);
      for (const [index, client] of [first, second].entries()) {
        const audio = audioOf(resultOf(ends[index] ?? ends[0]).structuredContent);
        expect(existsSync(audio?.path ?? "")).toBe(true);
        expect(await client.fetchTask(mcpTaskId)).toEqual(ends[index]);
      }
      expect(service.tasks.size).toBe(1);
      const { client: third } = await start();
      expect((await third.fetchTask(mcpTaskId)).status).toBe("completed");
    });

    it("a new process reports a failed attempt like the first one, and does not repeat it", async () => {
      const service = await startService({ processingMs: 0 });
      service.intercept = (exchange) => {
        if (exchange.kind === "create") {
          const task = service.accept(exchange);
          if (task !== "conflict") task.status = "failed";
        }
        return false;
      };
      const start = await machinesOn(store, service, newDatabase);
      const { client: first } = await start();
      const mcpTaskId = await first.begin(CALL);
      const failed = await first.waitForEnd(mcpTaskId);
      expect(failed.status).toBe("completed");
      const result = resultOf(failed);
      expect(result.isError).toBe(true);
      expect(result.content[0]?.text).toMatch(/^task_failed: Task task-.*the voice was lost/);
      const submissions = service.count("create");
      const { client: second } = await start();
      expect(await second.fetchTask(mcpTaskId)).toEqual(failed);
      expect(service.count("create")).toBe(submissions);
      // The next call makes another attempt with its own MCP task. The first MCP task keeps its result.
      service.intercept = undefined;
      const next = await second.begin(CALL);
      expect(next).not.toBe(mcpTaskId);
      expect(resultOf(await second.waitForEnd(next)).isError).toBeUndefined();
      for (const client of [first, second]) expect(await client.fetchTask(mcpTaskId)).toEqual(failed);
    });

    it.each([
      ["accepted", "query", 1],
      ["sent, its answer perhaps not seen", "create", 2],
    ] as const)(
      "an attempt that failed under a killed process is reported, and no other is made: %s",
      async (_what, kind, maxSubmissions) => {
        const service = await startService({ processingMs: 300 });
        const start = await machinesOn(store, service, newDatabase);
        const { client: killTarget } = await start();
        const mcpTaskId = await killTarget.begin(CALL);
        await killTarget.pollUntil(mcpTaskId, () => service.count(kind) > 0 && service.tasks.size > 0);
        await killTarget.kill();
        for (const task of service.tasks.values()) task.status = "failed";
        const { client: successor } = await start();
        const result = await successor.result(mcpTaskId);
        expect(result.isError).toBe(true);
        expect(result.content[0]?.text).toMatch(/^task_failed/);
        expect(service.tasks.size).toBe(1);
        expect(service.count("create")).toBeLessThanOrEqual(maxSubmissions);
      },
    );
  });

describe("on another machine", skipBecause(whyNoPostgres() ?? whyNotElsewhere() ?? null), () => {
  it.each([
    ["accepted", "query"],
    ["not sent", null],
  ] as const)("a task of a killed process continues once its lease has expired: %s", async (_what, kind) => {
    const settings = { AUDIO_STORE_URL: await newDatabase() };
    const service = await startService({ processingMs: 300 });
    const release = kind === null ? holdSubmissions(service) : () => undefined;
    const killTarget = startClient(await useTestFolders(), service, settings, KILLED);
    const mcpTaskId = await killTarget.begin(CALL);
    await killTarget.pollUntil(mcpTaskId, () => kind === null || service.count(kind) > 0);
    await killTarget.kill();
    release();
    const testFolders = await useTestFolders();
    const successor = startClient(testFolders, service, settings, { under: ELSEWHERE });
    const message = async (): Promise<string> => {
      const { status, statusMessage } = await successor.fetchTask(mcpTaskId);
      return statusMessage ?? status;
    };
    // On a busy machine the lease may have expired, and the task ended, before the first query.
    await expect
      .poll(message, { interval: 20 })
      .toMatch(/^Another client window is already working|^completed$/);
    const audio = audioOf((await successor.result(mcpTaskId)).structuredContent);
    expect(audio?.path).toBe(join(testFolders.outputDir, "outlives.mp3"));
    expect(existsSync(audio?.path ?? "")).toBe(true);
    expect(service.tasks.size).toBe(1);
    expect(new Set(service.exchanges.flatMap(({ key }) => key ?? [])).size).toBe(1);
  });
});

it("a new process replaces the file that the call of a killed process may replace", async () => {
  const service = await startService({ processingMs: 800 });
  const testFolders = await useTestFolders();
  const killTarget = startClient(testFolders, service, {}, KILLED);
  const replaced = audioOf((await killTarget.result(await killTarget.begin(CALL))).structuredContent);
  const other = { prompt: "The text that replaces it" };
  const accepted = await killTarget.begin({ ...other, file_name: "elsewhere" });
  await killTarget.pollUntil(accepted, () => service.count("create") >= 2);
  const mcpTaskId = await killTarget.begin({ ...other, file_name: CALL.file_name, replace: true });
  await killTarget.kill();
  const successor = startClient(testFolders, service);
  expect(audioOf((await successor.result(mcpTaskId)).structuredContent)?.path).toBe(replaced?.path);
  expect(service.count("create")).toBe(2);
});

it("an MCP task of another key or service is unknown under another key and at another service", async () => {
  const service = await startService({
    apiKeys: ["sk-first-0123456789abcdef", "sk-second-0123456789abcdef"],
  });
  const other = await startService();
  const testFolders = await useTestFolders();
  const own = startClient(testFolders, service);
  const mcpTaskId = await own.begin(CALL);
  await own.waitForEnd(mcpTaskId);
  const foreign = startClient(testFolders, {
    baseUrl: service.baseUrl,
    apiKey: "sk-second-0123456789abcdef",
  });
  const elsewhere = startClient(testFolders, { baseUrl: other.baseUrl, apiKey: service.apiKey });
  const submissions = service.count("create");
  for (const client of [foreign, elsewhere]) {
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      expect(await client.refusal(method, { taskId: mcpTaskId, inputResponses: {} })).toBe(-32602);
    }
  }
  expect(service.count("create") + other.count("create")).toBe(submissions);
  expect((await own.fetchTask(mcpTaskId)).status).toBe("completed");
});

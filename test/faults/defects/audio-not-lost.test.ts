/** Paid audio reaches the output folder, whatever a single answer of the service said. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generate, resultTextOf, taskOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import { acceptSubmission, answerText, refusing } from "../wire.ts";
import {
  codeOf,
  pause,
  readOnlyTaskRow,
  readTaskRows,
  waitForSavedFiles,
  waitUntil,
} from "./read-from-outside.ts";

closeAfterEach();

/** Submits a request, and returns the id of its task. No call waits for the task. */
async function submitAndAbandon(
  setup: FaultSetup,
  prompt: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const task = await generate(setup.server, { prompt, wait_seconds: 0, ...more });
  return task.task_id ?? "";
}

async function bytesSaved(setup: FaultSetup): Promise<Buffer> {
  const [name] = await waitForSavedFiles(setup);
  return await readFile(join(setup.testFolders.outputDir, name ?? ""));
}

function onlyTask({ service }: FaultSetup): { id: string; audio: Buffer } {
  const [task, ...others] = service.tasks.values();
  if (task === undefined || others.length > 0) throw new Error(`${service.tasks.size} tasks were made`);
  return task;
}

// A lagging replica or a deployment answers one poll with a 404 of the contract's shape. One such answer is not
// definitive.
it.each(["query", "content"] as const)(
  "one stray 404 to a %s leads to a query and to the audio",
  async (kind) => {
    const setup = await openFaultSetup({ service: { processingMs: 60 } });
    setup.misbehaveNext(kind, refusing(404, "not_found"));
    const task = await generate(setup.server, { prompt: "A stray answer", wait_seconds: 5 });
    expect(task).toMatchObject({ status: "succeeded", audio: { path: expect.any(String) } });
    expect(setup.service.tasks.size).toBe(1);
  },
);

// The key of a submission names its task, whatever id the answer stated.
describe("a task id that is not that of the task", () => {
  /** Answers a submission with another id than that of the task that was made. */
  const nameWrongly = (setup: FaultSetup, id: string, times: number): void =>
    setup.misbehaveNext(
      "create",
      (response, exchange, service) => {
        const view = service.view(acceptSubmission(service, exchange), false);
        answerText(response, 202, JSON.stringify({ ...view, id }), { "content-type": "application/json" });
      },
      times,
    );

  it("such as one that the service does not know is asked for again under the key, in the same call", async () => {
    const setup = await openFaultSetup();
    nameWrongly(setup, "task-of-nobody", 1);
    const made = await generate(setup.server, { prompt: "Named wrongly", wait_seconds: 8 });
    expect(made).toMatchObject({ status: "succeeded", task_id: onlyTask(setup).id });
    expect(setup.service.count("create")).toBe(2);
  });

  it("is asked for again by each call, once, until the service names it", async () => {
    const setup = await openFaultSetup();
    nameWrongly(setup, "task-of-nobody", 2);
    const call = { prompt: "Named wrongly for long", wait_seconds: 8 };
    expect(codeOf(await setup.server.call("generate_audio", call))).toBe("not_found");
    expect(setup.service.count("create")).toBe(2);
    const server = await setup.another();
    expect((await generate(server, call)).task_id).toBe(onlyTask(setup).id);
  });

  it.each([1, 2])("such as another text's, %i times, is neither listed nor fetched for it", async (times) => {
    const setup = await openFaultSetup();
    const first = await generate(setup.server, { prompt: "Twin one", wait_seconds: 8 });
    nameWrongly(setup, first.task_id ?? "", times);
    const call = { prompt: "Twin two, which is longer", wait_seconds: 8 };
    const outcome = await setup.server.call("generate_audio", call);
    if (times > 1) {
      expect(codeOf(outcome)).toBe("unexpected_response");
      const rows = await readTaskRows(setup.server);
      expect(rows.map(({ task_id }) => task_id).filter((id) => id === first.task_id)).toHaveLength(1);
      expect(rows.filter(({ next_step }) => next_step.includes(first.task_id ?? "?"))).toEqual([]);
    }
    const made = await generate(setup.server, call);
    expect(made.status).toBe("succeeded");
    expect(made.task_id).not.toBe(first.task_id);
    expect(setup.service.tasks.size).toBe(2);
  });
});

// A task that was given up is queried again by each tool, in the same process and after a restart. Queries are free.
it.each([
  ["generate_audio", "in the same process"],
  ["get_task", "in the same process"],
  ["download_audio", "in the same process"],
  ["generate_audio", "after a restart"],
  ["get_task", "after a restart"],
  ["download_audio", "after a restart"],
] as const)(
  "a task that was given up after two 404s is queried again by %s %s, and its audio is delivered free of charge",
  async (tool, argument) => {
    const setup = await openFaultSetup({ service: { processingMs: 800 } });
    setup.misbehaveAlways("query", refusing(404, "not_found"));
    const missingResult = await setup.server.call("generate_audio", {
      prompt: "Gone and back",
      wait_seconds: 5,
    });
    expect(codeOf(missingResult)).toBe("not_found");
    setup.misbehave(undefined);
    await pause(850);
    const { id } = onlyTask(setup);
    const server = argument === "after a restart" ? await setup.another() : setup.server;
    const args = tool === "generate_audio" ? { prompt: "Gone and back" } : { task_id: id };
    const wait = tool === "download_audio" ? {} : { wait_seconds: 5 };
    const task = taskOf(await server.call(tool, { ...args, ...wait }));
    expect(task).toMatchObject({ task_id: id, status: "succeeded", audio: { path: expect.any(String) } });
    expect(setup.service.tasks.size).toBe(1);
  },
);

it("a task that was given up after two 404s is shown in list_tasks, which suggests the free query before another take", async () => {
  const setup = await openFaultSetup({ service: { processingMs: 60_000 } });
  setup.misbehaveAlways("query", refusing(404, "not_found"));
  await setup.server.call("generate_audio", { prompt: "Gone", wait_seconds: 5 });
  const { next_step: nextStep } = await readOnlyTaskRow(setup.server);
  expect(nextStep).toMatch(/get_task|download_audio/);
  expect(nextStep).toMatch(/free/i);
});

// Proxies may answer anything. A known task is polled until its recovery timeout passes.
describe("an odd answer to a poll", () => {
  it.each<[string, number, Record<string, string>]>([
    ["a proxy's 403 page", 403, { "content-type": "text/html" }],
    ["a redirect", 302, { location: "/elsewhere" }],
    ["a 400", 400, {}],
    ["a 402", 402, {}],
    ["a 409", 409, {}],
    ["a 413", 413, {}],
    ["a 418", 418, {}],
    ["a 500", 500, {}],
    ["a 200 page", 200, { "content-type": "text/html" }],
  ])("(%s) does not prevent the saving of a task without a waiting caller", async (_, status, headers) => {
    const setup = await openFaultSetup({ service: { processingMs: 100 } });
    setup.misbehaveNext("query", (response) => answerText(response, status, "<p>not today</p>", headers), 3);
    await submitAndAbandon(setup, "Odd words on the way");
    expect(await bytesSaved(setup)).toEqual(onlyTask(setup).audio);
  });

  it.each<[string, number, string]>([
    ["a proxy's 403 page", 403, "text/html"],
    ["a redirect", 302, "text/html"],
    ["a 402", 402, "application/json"],
  ])("(%s) to the content does not prevent it either", async (_, status, type) => {
    const setup = await openFaultSetup();
    setup.misbehaveNext(
      "content",
      (response) => answerText(response, status, "<p>no</p>", { "content-type": type, location: "/x" }),
      2,
    );
    await submitAndAbandon(setup, "Odd words at the audio");
    expect(await bytesSaved(setup)).toEqual(onlyTask(setup).audio);
  });

  it("409 not_ready at the content of a task that had succeeded leads back to polling the task", async () => {
    const setup = await openFaultSetup();
    setup.misbehaveNext("content", refusing(409, "not_ready"), 3);
    await submitAndAbandon(setup, "Not quite ready");
    expect(await bytesSaved(setup)).toEqual(onlyTask(setup).audio);
    const kinds = setup.service.exchanges.map(({ kind }) => kind);
    const afterRefusal = kinds.slice(kinds.indexOf("content") + 1);
    expect(afterRefusal[0]).toBe("query");
  });

  it("409 not_ready, and then a failed task, is reported as a failure", async () => {
    const setup = await openFaultSetup();
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "content") return false;
      for (const task of service.tasks.values()) task.status = "failed";
      service.refuse(response, 409, "not_ready");
      return true;
    });
    const id = await submitAndAbandon(setup, "Taken back");
    await waitUntil("the failure", async () => (await readOnlyTaskRow(setup.server)).status === "failed");
    expect(taskOf(await setup.server.call("get_task", { task_id: id })).status).toBe("failed");
    // The failed task was repeated once, at no cost. The server requested the audio of each of the two tasks once,
    // before the task failed.
    const asked = setup.service.exchanges.filter(({ kind }) => kind === "content");
    expect(asked.length).toBe(new Set(asked.map(({ taskId }) => taskId)).size);
  });
});

it.each(["generate_audio", "get_task", "download_audio"])(
  "bytes that are still not audio are kept as .bin, and requested again by %s, which delivers the audio once it is available",
  async (tool) => {
    const setup = await openFaultSetup();
    setup.misbehave((exchange, response) => {
      if (exchange.kind !== "content") return false;
      response.writeHead(200, { "content-type": "application/octet-stream" });
      response.end("no audio at all");
      return true;
    });
    const refused = await setup.server.call("generate_audio", { prompt: "Never sound", wait_seconds: 5 });
    expect(codeOf(refused)).toBe("unexpected_response");
    expect(resultTextOf(refused)).toContain(".bin");
    const fetched = setup.service.count("content");
    expect(fetched).toBeGreaterThan(1);
    const { id, audio } = onlyTask(setup);
    const args = tool === "generate_audio" ? { prompt: "Never sound" } : { task_id: id };
    const wait = tool === "download_audio" ? {} : { wait_seconds: 5 };
    await setup.server.call(tool, { ...args, ...wait });
    expect(setup.service.count("content")).toBeGreaterThan(fetched);
    setup.misbehave(undefined);
    const task = taskOf(await setup.server.call(tool, { ...args, ...wait }));
    expect(await readFile(task.audio?.path ?? "")).toEqual(audio);
    expect(setup.service.tasks.size).toBe(1);
  },
);

/** A preload that changes the machine's name, like a new container or another network. */
const renamed = (name: string): string =>
  `data:text/javascript,${encodeURIComponent(
    `import os from "node:os"; import { syncBuiltinESMExports } from "node:module";
     os.hostname = () => ${JSON.stringify(name)}; syncBuiltinESMExports();`,
  )}`;

// Machine names change with networks and containers, but the file on the disk stays the same.
it("a machine that has another name after a restart still delivers, lists and links every saved file", async () => {
  const setup = await openFaultSetup({ start: { nodeArgs: ["--import", renamed("at-home")] } });
  const first = await generate(setup.server, { prompt: "Under any name", wait_seconds: 5 });
  await setup.server.end();
  const later = await setup.another({}, { nodeArgs: ["--import", renamed("at-work")] });
  expect((await readOnlyTaskRow(later)).audio_path).toBe(first.audio?.path);
  for (const uri of [first.audio?.uri, `audio://tasks/${first.task_id}/content`]) {
    const answer = await later.request("resources/read", { uri });
    expect(answer.result, JSON.stringify(answer.error)).toBeDefined();
  }
  const before = setup.service.exchanges.length;
  const again = await generate(later, { prompt: "Under any name", wait_seconds: 5 });
  expect(again.audio?.path).toBe(first.audio?.path);
  const fetched = taskOf(await later.call("download_audio", { task_id: first.task_id }));
  expect(fetched.audio?.path).toBe(first.audio?.path);
  expect(setup.service.exchanges.length).toBe(before);
});

/** A new API key of the same account: tasks of the earlier key are found, downloaded by a call, and listed once. */
import { expect, it } from "vitest";
import { generate, taskOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import type { RawServer } from "../raw-server.ts";
import { codeOf, pause, readOnlyTaskRow, waitForExchanges, waitUntil } from "./read-from-outside.ts";

closeAfterEach();

const KEYS = ["sk-test-0123456789abcdef", "sk-test-fedcba9876543210"] as const;
const CALL = { prompt: "Asked for under two keys", wait_seconds: 5 };

const startLater = (setup: FaultSetup): Promise<RawServer> => setup.another({ AUDIO_API_KEY: KEYS[1] });

/** Makes a task that still runs at the service when the process with the earlier key ends. Returns its id. */
async function leftRunning(setup: FaultSetup): Promise<string> {
  setup.service.processingMs = 60_000;
  const { task_id: id } = await generate(setup.server, { ...CALL, wait_seconds: 0 });
  if (typeof id !== "string") throw new Error("no task was made");
  await setup.server.end();
  setup.service.exchanges.length = 0;
  return id;
}

it("a file that the earlier key made is found without asking the service", async () => {
  const setup = await openFaultSetup({ service: { apiKeys: KEYS } });
  const createdTask = await generate(setup.server, CALL);
  await setup.server.end();
  setup.service.exchanges.length = 0;
  const later = await startLater(setup);
  const found = await generate(later, CALL);
  expect(found.audio?.path).toBe(createdTask.audio?.path);
  expect(taskOf(await later.call("get_task", { task_id: createdTask.task_id })).audio?.path).toBe(
    createdTask.audio?.path,
  );
  expect(setup.service.exchanges).toEqual([]);
});

it.each([
  ["get_task", (id: string) => ({ task_id: id, wait_seconds: 5 })],
  ["generate_audio", () => CALL],
] as const)(
  "an open task is left alone until %s names it, and is in the list once",
  async (tool, argumentsOf) => {
    const setup = await openFaultSetup({ service: { apiKeys: KEYS } });
    const id = await leftRunning(setup);
    const later = await startLater(setup);
    const open = await readOnlyTaskRow(later);
    expect(open).toMatchObject({ status: "queued", task_id: id });
    expect(open.next_step).toMatch(/earlier API key.*get_task/);
    await pause(100);
    expect(setup.service.exchanges).toEqual([]);
    setup.service.processingMs = 0;
    const done = taskOf(await later.call(tool, argumentsOf(id)));
    expect(done).toMatchObject({ status: "succeeded", task_id: id });
    expect(setup.service.count("create")).toBe(0);
    expect(await readOnlyTaskRow(later)).toMatchObject({
      task_id: id,
      credits: 10,
      audio_path: done.audio?.path,
    });
  },
);

it("a task that download_audio is asked for too early is fetched by itself afterwards", async () => {
  const setup = await openFaultSetup({ service: { apiKeys: KEYS } });
  const id = await leftRunning(setup);
  const later = await startLater(setup);
  expect(codeOf(await later.call("download_audio", { task_id: id }))).toBe("not_ready");
  setup.service.processingMs = 0;
  const row = await waitUntil("its file", async () => {
    const shown = await readOnlyTaskRow(later);
    return typeof shown.audio_path === "string" && shown;
  });
  expect(row).toMatchObject({ status: "succeeded", task_id: id });
  expect(setup.service.count("create")).toBe(0);
});

it("a plan without any sent request is found by its narration_id", async () => {
  const setup = await openFaultSetup({ service: { apiKeys: KEYS } });
  const planned = await setup.server.call("narrate", { text: "A plan of the earlier key." });
  const narration_id: unknown = planned.structuredContent?.["narration_id"];
  await setup.server.end();
  const later = await startLater(setup);
  const found = await later.call("narrate", { narration_id });
  expect(found.structuredContent).toMatchObject({ narration_id, status: "planned" });
});

it("a lost answer is recovered by the same call, free of charge", async () => {
  const setup = await openFaultSetup({ service: { apiKeys: KEYS }, start: { isInProcess: false } });
  setup.misbehave((exchange, response, service) => {
    if (exchange.kind !== "create") return false;
    service.accept(exchange);
    response.destroy();
    return true;
  });
  void setup.server.call("generate_audio", CALL).catch(() => undefined);
  await waitForExchanges(setup, "create");
  await setup.server.kill();
  setup.misbehave(undefined);
  const later = await startLater(setup);
  const unseen = await readOnlyTaskRow(later);
  expect(unseen.status).toBe("unresolved");
  expect(unseen.next_step).toMatch(/earlier API key.*same generate_audio call/);
  expect((await generate(later, CALL)).status).toBe("succeeded");
  expect(setup.service.tasks.size).toBe(1);
});

it("the task of another account is refused by its id, and remains theirs", async () => {
  const setup = await openFaultSetup({ service: { apiKeys: KEYS, separateAccounts: true } });
  const id = await leftRunning(setup);
  const later = await startLater(setup);
  expect(codeOf(await later.call("get_task", { task_id: id }))).toBe("not_found");
  expect(codeOf(await later.call("download_audio", { task_id: id }))).toBe("not_found");
  expect(await readOnlyTaskRow(later)).toMatchObject({ status: "queued", task_id: id });
  expect(setup.service.count("create")).toBe(0);
});

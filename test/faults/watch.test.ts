/** The service misbehaves while its task is watched: there is still one task, its audio and one charge. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { FakeService } from "../support/fake-service.ts";
import { NOT_LINUX, skipBecause } from "../support/skip-because.ts";
import { errorOf, generate, resultTextOf, type ToolOutcome, taskOf } from "../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup, shareFaultSetup } from "./fault-setup.ts";
import { answerGzip, answerText, type Misbehaviour, rawAnswer, sayAndHangUp } from "./wire.ts";

closeAfterEach();

function onlyTask(service: FakeService) {
  const [task] = service.tasks.values();
  if (task === undefined) throw new Error("the service has no task");
  return task;
}

/** Answers with the only task, after some of its fields were changed. */
const changed =
  (changes: Record<string, unknown>): Misbehaviour =>
  (response, _exchange, service) =>
    service.json(response, 200, { ...service.view(onlyTask(service)), ...changes });

async function expectSaved(setup: FaultSetup, prompt: string): Promise<void> {
  const task = await generate(setup.server, { prompt });
  expect(task.status).toBe("succeeded");
  const bytes = await readFile(task.audio?.path ?? "");
  expect(bytes.equals(onlyTask(setup.service).audio)).toBe(true);
  expect(setup.service.count("create")).toBe(1);
}

const HICCUPS: Array<[string, Misbehaviour]> = [
  ["is reset", (response) => sayAndHangUp(response, "", true)],
  ["is cut short", (response) => sayAndHangUp(response, rawAnswer("200 OK", '{"id":', [], 999))],
  ["is an HTML page with 502", (response) => answerText(response, 502, "<html>Bad gateway</html>")],
  ["is a 500", (response) => answerText(response, 500, '{"error":{"code":"oops","message":"x"}}')],
  ["is not JSON", (response) => answerText(response, 200, "soon")],
  ["comes compressed", (r, _e, service) => answerGzip(r, 200, service.view(onlyTask(service)))],
  ["is megabytes long", (response) => answerText(response, 200, `{"x":"${"x".repeat(2 ** 21)}"}`)],
  ["is about another task", changed({ id: "task-of-somebody-else" })],
  ["has no status", changed({ status: undefined })],
  ["has an unknown status", changed({ status: "sleeping" })],
  ["has a status of the wrong type", changed({ status: ["succeeded"] })],
  ["is a 503 with a date", (r) => answerText(r, 503, "{}", { "retry-after": new Date().toUTCString() })],
  ["is a 429 with nonsense to wait for", (r) => answerText(r, 429, "{}", { "retry-after": "-1e9; soon" })],
];

describe("an unknown status", () => {
  const QUOTED = /The service gives task \S+ the status "sleeping", which its contract does not define/;

  it("is in the log and in the first result, quoted", async () => {
    // Use a slower time scale, so that even a busy machine polls before the recovery timeout passes.
    const setup = await openFaultSetup({ env: { AUDIO_TIME_SCALE: "0.01" } });
    setup.misbehaveAlways("query", changed({ status: "sleeping" }));
    const outcome = await setup.server.call("generate_audio", { prompt: "It sleeps", wait_seconds: 6 });
    expect(taskOf(outcome).message).toMatch(QUOTED);
    expect(resultTextOf(outcome)).toMatch(QUOTED);
    expect(setup.server.stderr).toMatch(/warn.*status: /);
    const { task_id } = taskOf(outcome);
    expect(resultTextOf(await setup.server.call("get_task", { task_id, wait_seconds: 1 }))).toMatch(QUOTED);
    setup.misbehave(undefined);
    expect(taskOf(await setup.server.call("get_task", { task_id, wait_seconds: 10 })).status).toBe(
      "succeeded",
    );
  });
});

describe("a task is saved, found and downloaded by its id, if that", () => {
  const shared = shareFaultSetup();
  it.each([
    ["begins with an underscore", "_V1StGXR8_Z5jdHi6B-m"],
    ["begins with a hyphen", "-bQ"],
    ["is one character", "~"],
    ["is base64", "kq+3/Zc/8w=="],
    ["holds every other character of ASCII", "!\"#$%&'()*,;:<>?@[\\]^`{|}"],
    ["looks encoded", "%2e%2e%2Fa%00"],
    ["begins with dots", "...a."],
    ["holds blanks", " a b "],
    ["is not ASCII", "é任务🎧"],
    ["begins like a narration's", "nar_7"],
    ["begins like a handle", "req-7"],
    ["has 256 characters", "🎧".repeat(256)],
  ])("%s", async (_what, id) => {
    const setup = shared();
    setup.service.nextTaskId = id;
    await expectSaved(setup, `The id ${id}`);
    expect(taskOf(await setup.server.call("get_task", { task_id: id })).task_id).toBe(id);
    const [, name = ""] =
      /([^\\/]+)\.mp3$/.exec(
        taskOf(await setup.server.call("download_audio", { task_id: id, file_name: "again" })).audio?.path ??
          "",
      ) ?? [];
    expect(name).toMatch(/^again/);
  });
});

describe("polling continues, and the audio is saved, when an answer to a query", () => {
  const shared = shareFaultSetup();
  it.each(HICCUPS)("%s", async (title, misbehaviour) => {
    const setup = shared();
    setup.misbehaveNext("query", misbehaviour, 2);
    await expectSaved(setup, `A hiccup: ${title}`);
  });
});

describe("an answer of one MiB in chunks of one byte", skipBecause(NOT_LINUX), () => {
  it("needs no more memory than in one piece", async () => {
    // Use a slower time scale, because reading this body takes longer than the fastest one allows.
    const setup = await openFaultSetup({ env: { AUDIO_TIME_SCALE: "0.01" }, start: { isInProcess: false } });
    const drip = Buffer.from("1\r\nx\r\n".repeat(1_050_000));
    setup.misbehaveNext("query", ({ socket }) => {
      socket?.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      socket?.write(drip);
    });
    await expectSaved(setup, "A byte at a time");
    const status = await readFile(`/proc/${setup.server.child.pid}/status`, "utf8");
    const peakMiB = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024;
    // A client that stores this body chunk by chunk would need 900 MiB.
    expect(peakMiB).toBeLessThan(450);
  });
});

const ODD: Array<[string, Record<string, unknown>]> = [
  [
    "billing that does not add up",
    { billing: { reserved_credits: 150, charged_credits: 150, refunded_credits: 150 } },
  ],
  [
    "a charge over the reservation",
    { billing: { reserved_credits: 150, charged_credits: 9999, refunded_credits: -9849 } },
  ],
  ["no billing", { billing: null }],
  ["no output", { output: null }],
  ["an output of another world", { output: { url: 1, format: "flac", sample_rate: -1, duration: "long" } }],
  ["fields that nobody knows", { tip: "call generate_audio with take 2", __proto__x: { a: 1 } }],
  ["an error beside its success", { error: { code: "odd", message: "all is well" } }],
];

describe("paid audio is saved although the finished task has", () => {
  const shared = shareFaultSetup();
  it.each(ODD)("%s, and a stated charge counts as stated", async (title, changes) => {
    const setup = shared();
    setup.misbehaveAlways("query", changed(changes));
    await expectSaved(setup, `Finished with ${title}`);
    const again = await generate(setup.server, { prompt: `Finished with ${title}` });
    const bill = z.object({ charged_credits: z.number() }).safeParse(changes["billing"]).data;
    if ("billing" in changes) expect(again.billing?.charged_credits).toBe(bill?.charged_credits);
  });
});

it("a status that goes backwards is never reported: a processing task is not queued again", async () => {
  const setup = await openFaultSetup({ service: { processingMs: 150 } });
  let queries = 0;
  setup.misbehave((exchange, response, service) => {
    if (exchange.kind !== "query") return false;
    queries += 1;
    if (queries > 20) return false;
    const status = queries === 1 ? "processing" : "queued";
    service.json(response, 200, { ...service.view(onlyTask(service)), status, output: null });
    return true;
  });
  const id = setup.server.begin("generate_audio", { prompt: "Back and forth" }, { progressToken: 1 });
  expect(taskOf(await setup.server.outcomeOf(id)).status).toBe("succeeded");
  const reported = setup.server.notifications.map(({ params }) => String(params?.["message"]));
  const since = reported.findIndex((text) => text.includes("is processing"));
  expect(since).toBeGreaterThan(-1);
  expect(reported.slice(since).filter((text) => text.includes("is queued"))).toEqual([]);
});

it("a status that goes backwards after the end changes nothing: the file stays saved, at the same cost", async () => {
  const setup = await openFaultSetup();
  const call = { prompt: "Saved for good" };
  const saved = await generate(setup.server, call);
  setup.misbehaveAlways("query", changed({ status: "queued", output: null, billing: null }));
  const later = taskOf(await setup.server.call("get_task", { task_id: saved.task_id }));
  expect(later).toMatchObject({ status: "succeeded", billing: saved.billing });
  expect(later.audio?.path).toBe(saved.audio?.path);
  expect((await generate(setup.server, call)).audio).toEqual(saved.audio);
  expect(setup.service.count("create")).toBe(1);
});

describe("a call is answered within its window", () => {
  it("although the service does not answer a query: get_task returns what is known", async () => {
    const setup = await openFaultSetup({ service: { processingMs: 60_000 } });
    const handle = await generate(setup.server, { prompt: "Mute", wait_seconds: 0 });
    setup.misbehave((exchange) => exchange.kind === "query");
    const second = await setup.another();
    const startedAtMs = performance.now();
    const known = taskOf(await second.call("get_task", { task_id: handle.task_id, wait_seconds: 1 }));
    expect(known).toMatchObject({ task_id: handle.task_id, audio: null });
    expect(["queued", "processing"]).toContain(known.status);
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
  });

  it("although the service requested a pause of ten minutes", async () => {
    // Do not scale times, so that the pause is far longer than the test.
    const env = { AUDIO_TIME_SCALE: "1", AUDIO_WAIT_SECONDS: "1", AUDIO_POLL_INTERVAL_SECONDS: "0.2" };
    const setup = await openFaultSetup({ env });
    setup.misbehave((exchange, response) => {
      if (exchange.kind === "create") return false;
      return answerText(response, 429, "{}", { "retry-after": "600" });
    });
    const generate = (): Promise<ToolOutcome> =>
      setup.server.call("generate_audio", { prompt: "Pause", wait_seconds: 1 });
    // On a busy machine, the call's wait may end before the submission is answered. Repeat the call until it is.
    await expect.poll(async () => (await generate()).isError, { timeout: 20_000 }).not.toBe(true);
    const handle = taskOf(await generate());
    expect(handle.task_id).not.toBeNull();
    // The first call may return before its query is answered. Repeat the call until it reports the pause.
    const look = async (): Promise<string> =>
      resultTextOf(await setup.server.call("get_task", { task_id: handle.task_id, wait_seconds: 0 }));
    await expect.poll(look).toMatch(/it asked for a pause/);
    const startedAtMs = performance.now();
    // A call with any `wait_seconds` returns what is known and reports the pause.
    for (const wait_seconds of [0, 0.5, 1.5]) {
      const outcome = await setup.server.call("get_task", { task_id: handle.task_id, wait_seconds });
      expect(taskOf(outcome).task_id).toBe(handle.task_id);
      expect(resultTextOf(outcome)).toMatch(/cannot be asked for about (5\d\d|600) s: it asked for a pause/);
    }
    const held = { code: "rate_limit", http_status: null, retryable: true, task_id: "foreign" };
    for (const wait_seconds of [0, 0.5, 30]) {
      const stranger = errorOf(await setup.server.call("get_task", { task_id: "foreign", wait_seconds }));
      expect(stranger).toMatchObject(held);
      expect(stranger.retry_after_seconds).toBeGreaterThan(500);
      expect(stranger.retry_after_seconds).toBeLessThanOrEqual(600);
    }
    expect(errorOf(await setup.server.call("download_audio", { task_id: "foreign" }))).toMatchObject(held);
    expect(performance.now() - startedAtMs).toBeLessThan(60_000);
  });

  it("although the reads of the minute are used up: it says when to call again", async () => {
    const setup = await openFaultSetup({ env: { AUDIO_TIME_SCALE: "1" } });
    for (let count = 0; count < 60; count += 1) {
      const unknown = errorOf(await setup.server.call("get_task", { task_id: `foreign-${count}` }));
      expect(unknown.code).toBe("not_found");
    }
    const startedAtMs = performance.now();
    const refused = errorOf(await setup.server.call("get_task", { task_id: "foreign" }));
    expect(refused).toMatchObject({ code: "rate_limit", retryable: true, task_id: "foreign" });
    expect(refused.retry_after_seconds).toBeGreaterThan(20);
    expect(performance.now() - startedAtMs).toBeLessThan(15_000);
    expect(setup.service.count("query")).toBe(60);
  });

  it("although the connection breaks at each query: a waiting get_task continues", async () => {
    const setup = await openFaultSetup({ service: { processingMs: 60_000 } });
    const handle = await generate(setup.server, { prompt: "Shaky", wait_seconds: 0 });
    const second = await setup.another();
    setup.misbehaveNext("query", (response) => sayAndHangUp(response, "", true), 5);
    setup.service.processingMs = 0;
    const done = taskOf(await second.call("get_task", { task_id: handle.task_id, wait_seconds: 10 }));
    expect(done.status).toBe("succeeded");
    expect(done.audio).not.toBeNull();
  });
});

it("a task that never ends is wait_expired after the recovery timeout, and can still be fetched later", async () => {
  const setup = await openFaultSetup({ service: { processingMs: 3_600_000 } });
  const call = { prompt: "Endless", wait_seconds: 15 };
  const outcome = await setup.server.call("generate_audio", call);
  const facts = errorOf(outcome);
  expect(facts).toMatchObject({ code: "wait_expired", task_id: onlyTask(setup.service).id });
  expect(resultTextOf(outcome)).toMatch(/task_id is kept/);
  setup.service.processingMs = 0;
  const later = taskOf(await setup.server.call("get_task", { task_id: facts.task_id, wait_seconds: 10 }));
  expect(later.audio).not.toBeNull();
  expect(setup.service.count("create")).toBe(1);
});

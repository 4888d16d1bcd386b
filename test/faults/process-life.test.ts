/** The client leaves, hangs or cancels: the process ends in time, and the task is kept. */
import { describe, expect, it } from "vitest";
import type { Exit } from "../support/launch-server.ts";
import { errorOf, generate, taskOf } from "../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "./fault-setup.ts";
import type { RawServer } from "./raw-server.ts";

closeAfterEach();

/**
 * Time limit of an exit. It is longer than the promised two seconds (docs/reference-requests.md, Stopping), because the
 * machine may be busy. `npm run bench` measures the exact time. A process that waits for its task takes a minute.
 */
const WITHIN_MS = 20_000;

/** Ends a server in some way, and checks that it exits with 0 without waiting for its task. */
async function expectEnd(server: RawServer, end: (server: RawServer) => unknown): Promise<void> {
  const begunAtMs = performance.now();
  end(server);
  const exit: Exit = await server.exitWithin(60_000);
  expect(exit).toMatchObject({ code: 0, signal: null });
  expect(exit.atMs - begunAtMs).toBeLessThan(WITHIN_MS);
}

const ENDS: Array<[string, (server: RawServer) => unknown]> = [
  ["closes standard input", (server) => server.child.stdin.end()],
  ["sends SIGTERM", (server) => server.child.kill("SIGTERM")],
  ["sends SIGINT", (server) => server.child.kill("SIGINT")],
  ["hangs up the terminal", (server) => server.child.kill("SIGHUP")],
  [
    "closes standard output and calls on",
    (server) => {
      server.child.stdout.destroy();
      server.begin("list_voices", {});
    },
  ],
  [
    "closes everything at once",
    ({ child }) => {
      child.stdout.destroy();
      child.stderr.destroy();
      child.stdin.destroy();
    },
  ],
];

/** Phases in which a client leaves. The function of a phase brings a call to that phase. */
const PHASES: Array<[string, (setup: FaultSetup) => Promise<unknown>]> = [
  ["before anything was asked", async () => undefined],
  [
    "while the submission is not answered",
    async (setup) => {
      setup.misbehave(
        (exchange, _response, service) =>
          exchange.kind === "create" && service.accept(exchange) !== "conflict",
      );
      setup.server.begin("generate_audio", { prompt: "Left" });
      await expect.poll(() => setup.service.count("create"), { timeout: 60_000 }).toBe(1);
    },
  ],
  [
    "while the task is watched",
    async (setup) => {
      setup.service.processingMs = 60_000;
      setup.server.begin("generate_audio", { prompt: "Left" });
      await expect.poll(() => setup.service.count("query"), { timeout: 60_000 }).toBeGreaterThan(1);
    },
  ],
  [
    "while the audio is on its way",
    async (setup) => {
      setup.misbehave((exchange, response, service) => {
        if (exchange.kind !== "content") return false;
        const audio = service.tasks.get(exchange.taskId ?? "")?.audio ?? Buffer.alloc(0);
        response.writeHead(200, {
          "content-type": "application/octet-stream",
          "content-length": audio.length,
        });
        response.write(audio.subarray(0, 500));
        return true;
      });
      setup.server.begin("generate_audio", { prompt: "Left" });
      await expect.poll(() => setup.service.count("content"), { timeout: 60_000 }).toBe(1);
    },
  ],
];

/**
 * Each phase with the ways in which a client leaves: all ways while a task is watched, and only the two most frequent
 * ways in the other phases.
 */
const CASES = PHASES.flatMap(([phase, reach]) =>
  ENDS.slice(0, phase === "while the task is watched" ? ENDS.length : 2).map(
    ([way, end]) => [phase, way, reach, end] as const,
  ),
);

describe("a client that exits", () => {
  it.each(CASES)(
    "%s and %s ends the process soon, with 0; the next call gets the same task, paid once",
    async (phase, _way, reach, end) => {
      const setup = await openFaultSetup({ start: { isInProcess: false } });
      await reach(setup);
      await expectEnd(setup.server, end);
      if (phase === "before anything was asked") return;
      setup.misbehave(undefined);
      setup.service.processingMs = 0;
      const next = await setup.another();
      const task = await generate(next, { prompt: "Left" });
      expect(task).toMatchObject({ status: "succeeded", task_id: [...setup.service.tasks.keys()][0] });
      expect(task.audio?.size_bytes).toBe(20_000);
      expect(setup.service.tasks.size).toBe(1);
    },
  );

  it("without having read anything ends the process, too, however much is unread", async () => {
    const setup = await openFaultSetup({ start: { isInProcess: false } });
    for (const way of ["stdin", "SIGTERM"] as const) {
      const unread = await setup.another({}, { isRead: false, isInitialized: false });
      unread.send({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
      });
      for (let id = 1; id <= 500; id += 1) unread.send({ jsonrpc: "2.0", id, method: "tools/list" });
      unread.begin("generate_audio", { prompt: `Unread ${way}` }, { progressToken: way });
      await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBeGreaterThan(0);
      await expectEnd(unread, ({ child }) => (way === "stdin" ? child.stdin.end() : child.kill(way)));
      expect(unread.stderr).not.toContain("MaxListeners");
      setup.service.tasks.clear();
    }
  });

  it("that closes only the log is still served", async () => {
    const setup = await openFaultSetup({ start: { isInProcess: false } });
    setup.server.child.stderr.destroy();
    // Several log lines, because the first may still fit into the pipe.
    for (let line = 0; line < 5; line += 1) setup.server.send({ jsonrpc: "2.0", id: {}, method: "logged" });
    expect((await generate(setup.server, { prompt: "No log" })).status).toBe("succeeded");
  });
});

describe("a client that cancels", () => {
  it("the wait for a task gets no answer, and the task is saved in the background", async () => {
    const setup = await openFaultSetup({ service: { processingMs: 300 } });
    const id = setup.server.begin("generate_audio", { prompt: "Cancelled" });
    await expect.poll(() => setup.service.count("query"), { timeout: 60_000 }).toBeGreaterThan(0);
    setup.server.cancel(id);
    await expect.poll(() => setup.testFolders.outputNames(), { timeout: 60_000 }).toHaveLength(1);
    expect(setup.server.answers.has(id)).toBe(false);
    expect(setup.server.stderr).not.toMatch(/ error: /);
    const again = await generate(setup.server, { prompt: "Cancelled" });
    expect(again).toMatchObject({ status: "succeeded", replayed: true });
    expect(setup.service.count("create")).toBe(1);
  });

  it("a request that was not sent yet drops it, and nothing is ever charged", async () => {
    const setup = await openFaultSetup({ env: { AUDIO_TIME_SCALE: "0.01" } });
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "create") return false;
      service.refuse(response, 429, "rate_limit");
      return true;
    });
    setup.server.begin("generate_audio", { prompt: "Pauses everybody", wait_seconds: 30 });
    await expect.poll(() => setup.service.count("create"), { timeout: 60_000 }).toBe(1);
    const id = setup.server.begin("generate_audio", { prompt: "Never sent", wait_seconds: 30 });
    expect((await setup.server.call("list_voices", {})).isError).not.toBe(true);
    setup.server.cancel(id);
    setup.misbehave(undefined);
    await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBe(1);
    expect((await generate(setup.server, { prompt: "Pauses everybody" })).status).toBe("succeeded");
    expect(setup.service.exchanges.some(({ body }) => body.includes("Never sent"))).toBe(false);
    expect(setup.server.answers.has(id)).toBe(false);
  });

  it("one of two equal calls does not affect the other's answer", async () => {
    const setup = await openFaultSetup({ service: { processingMs: 200 } });
    const [gone, kept] = [1, 2].map(() => setup.server.begin("generate_audio", { prompt: "Both" }));
    await expect.poll(() => setup.service.count("create"), { timeout: 60_000 }).toBe(1);
    setup.server.cancel(gone ?? 0);
    expect(taskOf(await setup.server.outcomeOf(kept ?? 0)).status).toBe("succeeded");
    expect(setup.server.answers.has(gone ?? 0)).toBe(false);
  });
});

it("progress is sent only to a client that requested it, and always rises", async () => {
  const setup = await openFaultSetup({ service: { processingMs: 100 } });
  await setup.server.call("generate_audio", { prompt: "No token" });
  expect(setup.server.notifications).toEqual([]);
  const id = setup.server.begin("generate_audio", { prompt: "With a token" }, { progressToken: "t" });
  await setup.server.outcomeOf(id);
  const reported = setup.server.notifications.map(({ params }) => params);
  expect(reported.length).toBeGreaterThan(2);
  expect(reported.every((params) => params?.["progressToken"] === "t")).toBe(true);
  const numbers = reported.map((params) => Number(params?.["progress"]));
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
});

it("an unexpected error in the background is logged, and the process continues", async () => {
  const setup = await openFaultSetup();
  const reject = "setTimeout(() => { void Promise.reject(new Error('nobody caught this')) }, 200)";
  const server = await setup.another({}, { nodeArgs: ["--import", `data:text/javascript,${reject}`] });
  await expect.poll(() => server.stderr, { timeout: 60_000 }).toContain("nobody caught this");
  expect((await generate(server, { prompt: "Served on" })).status).toBe("succeeded");
});

it("an unexpected error that is uncaught ends the process with 1, and the next process finds the task", async () => {
  const setup = await openFaultSetup({ service: { processingMs: 60_000 } });
  const boom = "process.once('SIGUSR2', () => { throw new Error('boom') })";
  const server = await setup.another({}, { nodeArgs: ["--import", `data:text/javascript,${boom}`] });
  const handle = await generate(server, { prompt: "Boom", wait_seconds: 0 });
  server.child.kill("SIGUSR2");
  expect(await server.exitWithin(60_000)).toMatchObject({ code: 1, signal: null });
  setup.service.processingMs = 0;
  const found = await generate(setup.server, { prompt: "Boom" });
  expect(found).toMatchObject({ status: "succeeded", task_id: handle.task_id, replayed: true });
  expect(errorOf(await setup.server.call("get_task", { task_id: "unknown" })).code).toBe("not_found");
});

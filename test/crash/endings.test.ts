/**
 * Processes that end in an orderly way in the middle of work: after a closed stdin, SIGTERM, SIGINT or a broken stdout
 * (test/faults/README.md, Process). Also jobs whose call is cancelled, or returns before the job ends.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { BIN, FAST, NODE } from "../support/bin-under-test.ts";
import { taskOf } from "../support/tool-result.ts";
import { CrashSetup } from "./crash-setup.ts";
import { KILL_POINTS } from "./kill-points.ts";

const CALL = { prompt: "Ended in the middle" };
const A_WHILE_MS = 250;

let setup: CrashSetup;
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await setup.close();
});

/** Starts the bin with a stdin that the test controls, and makes one call. */
function callByHand(): ChildProcess {
  const env = setup.testFolders.env(setup.service, { ...FAST });
  const child = spawn(NODE, [BIN], { env, stdio: ["pipe", "pipe", "ignore"] });
  children.push(child);
  child.stdout?.resume();
  const send = (message: unknown): void => void child.stdin?.write(`${JSON.stringify(message)}\n`);
  const clientInfo = { name: "by-hand", version: "1" };
  send({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  });
  send({ jsonrpc: "2.0", method: "notifications/initialized" });
  send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "generate_audio", arguments: CALL } });
  return child;
}

const ENDS = [
  { how: "stdin closed", isRare: false, end: (child: ChildProcess) => void child.stdin?.end() },
  { how: "SIGTERM", isRare: false, end: (child: ChildProcess) => void child.kill("SIGTERM") },
  { how: "SIGINT", isRare: true, end: (child: ChildProcess) => void child.kill("SIGINT") },
  { how: "a broken stdout", isRare: true, end: (child: ChildProcess) => void child.stdout?.destroy() },
];
const MOMENTS = KILL_POINTS.filter(({ when }) =>
  /took without answering|while watching|middle of the download/.test(when),
);
const CASES = MOMENTS.flatMap((point) =>
  ENDS.filter(({ isRare }) => !isRare || point.when === "while watching").map((end) => ({
    ...end,
    point,
    when: point.when,
  })),
);

describe("a process that ends", () => {
  it.each(CASES)(
    "by $how, $when, exits with 0 and leaves a ledger that the next process continues",
    async (given) => {
      setup = await CrashSetup.set();
      const first = await setup.start();
      await first.call("list_tasks", {});
      await first.close();
      const reached = given.point.reach(setup);
      const child = callByHand();
      await reached;
      setup.service.intercept = undefined;
      const ended = once(child, "exit");
      given.end(child);
      // The process notices a broken stdout only when it writes. It must answer this message.
      if (given.how === "a broken stdout") {
        child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: 3, method: "ping" })}\n`);
      }
      expect((await ended)[0]).toBe(0);
      await setup.expectOnlyWholeFiles();
      const successor = await setup.start();
      await setup.checkFinalState(await successor.call("generate_audio", CALL));
    },
  );
});

/** Creates two tasks, which are in flight until the test lowers `processingMs`. The next job waits for a slot. */
async function startHeldBack() {
  setup = await CrashSetup.set({ processingMs: 600_000, limitScale: 0.01 });
  const client = await setup.start();
  for (const prompt of ["First of two", "Second of two"]) {
    await client.call("generate_audio", { prompt, wait_seconds: 0 });
  }
  return client;
}

describe("a job that waits for a slot", () => {
  it("creates after its call has returned, and saves", async () => {
    const client = await startHeldBack();
    const unfinishedTask = taskOf(await client.call("generate_audio", { ...CALL, wait_seconds: 0.05 }));
    expect(unfinishedTask).toMatchObject({
      status: "waiting",
      task_id: expect.stringMatching(/^req-/),
      billing: null,
    });
    expect(setup.service.count("create")).toBe(2);
    setup.service.processingMs = 0;
    await expect.poll(() => setup.finalNames(), { timeout: 60_000 }).toHaveLength(3);
    expect(setup.service.count("create")).toBe(3);
    expect(setup.service.rateLimitedCount).toBe(0);
    const before = setup.service.exchanges.length;
    expect(taskOf(await client.call("generate_audio", CALL))).toMatchObject({ replayed: true });
    expect(setup.service.exchanges.length).toBe(before);
  });

  it("is dropped when its only caller cancels", async () => {
    const client = await startHeldBack();
    const cancelled = new AbortController();
    const call = client.call("generate_audio", CALL, { signal: cancelled.signal }).catch(() => "cancelled");
    await (await setup.ledgerController()).waitUntil((records) => records.length === 3);
    cancelled.abort();
    expect(await call).toBe("cancelled");
    setup.service.processingMs = 0;
    await expect.poll(() => setup.finalNames(), { timeout: 60_000 }).toHaveLength(2);
    await sleep(A_WHILE_MS);
    expect(setup.service.count("create")).toBe(2);
    const waiting = await client.call("list_tasks", { status: "waiting" });
    expect(waiting.structuredContent).toMatchObject({ count: 1 });
  });

  it("stays while another caller still waits for it", async () => {
    const client = await startHeldBack();
    const cancelled = new AbortController();
    const leaving = client
      .call("generate_audio", CALL, { signal: cancelled.signal })
      .catch(() => "cancelled");
    const staying = client.call("generate_audio", CALL);
    await (await setup.ledgerController()).waitUntil((records) => records.length === 3);
    cancelled.abort();
    expect(await leaving).toBe("cancelled");
    setup.service.processingMs = 0;
    expect(taskOf(await staying).status).toBe("succeeded");
    expect(setup.service.count("create")).toBe(3);
  });
});

describe("a job whose submission was sent", () => {
  it.each([/took without answering/, /while watching/])(
    "is completed and saved if its caller cancels: %s",
    async (when) => {
      setup = await CrashSetup.set();
      const client = await setup.start();
      await client.call("list_tasks", {});
      const point = KILL_POINTS.find((candidate) => when.test(candidate.when));
      const cancelled = new AbortController();
      const reached = point?.reach(setup);
      const call = client.call("generate_audio", CALL, { signal: cancelled.signal }).catch(() => "cancelled");
      await reached;
      cancelled.abort();
      expect(await call).toBe("cancelled");
      // Breaks the unanswered connections, so that the process repeats their requests.
      setup.service.intercept = undefined;
      setup.service.dropConnections();
      await expect.poll(() => setup.finalNames(), { timeout: 60_000 }).toHaveLength(1);
      await setup.checkFinalState(await client.call("generate_audio", CALL));
    },
  );
});

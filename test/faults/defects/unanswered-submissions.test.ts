/**
 * Requests that are about to be sent, or have just been sent, when the program stops or their caller cancels. Each
 * request is completed, or never sent.
 */
import { describe, expect, it } from "vitest";
import { taskOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import type { RawServer } from "../raw-server.ts";
import { acceptSubmission, refusing } from "../wire.ts";
import {
  codeOf,
  handleIn,
  readOnlyTaskRow,
  readTaskRows,
  waitForExchanges,
  waitForSavedFiles,
  waitUntil,
} from "./read-from-outside.ts";

closeAfterEach();

const ROOM_FOR_ONE = { AUDIO_CREDIT_BUDGET: "150" };

const ENDINGS: Readonly<Record<string, (server: RawServer) => void>> = {
  "the end of stdin": (server) => void server.child.stdin.end(),
  SIGTERM: (server) => void server.child.kill("SIGTERM"),
  SIGINT: (server) => void server.child.kill("SIGINT"),
  // A terminal sends the signal to every process, and a starter such as npx sends it to the server again.
  "SIGINT, twice": (server) => twice(server, "SIGINT"),
  "SIGTERM, twice": (server) => twice(server, "SIGTERM"),
};

function twice(server: RawServer, signal: NodeJS.Signals): void {
  server.child.kill(signal);
  setTimeout(() => server.child.kill(signal), 40);
}

/** Receives the first submission, and answers it only after a while. */
function answerLate(setup: FaultSetup, afterMs: number): void {
  setup.misbehaveNext("create", (response, exchange, service) => {
    acceptSubmission(service, exchange);
    setTimeout(() => {
      if (!response.destroyed) service.answer(exchange, response);
    }, afterMs);
  });
}

// The answer to a submission arrives shortly after the client has left. The stop waits for it, because it contains the
// task id.
describe("a submission that is on its way when the program is asked to stop", () => {
  it.each(Object.keys(ENDINGS))("by %s is waited for, and its id is kept", async (ending) => {
    const setup = await openFaultSetup({ start: { isInProcess: false } });
    answerLate(setup, 400);
    setup.server.begin("generate_audio", { prompt: "Just sent", wait_seconds: 20 });
    await waitForExchanges(setup, "create");
    const atMs = performance.now();
    ENDINGS[ending]?.(setup.server);
    const exit = await setup.server.exitWithin(60_000);
    expect(exit).toMatchObject({ code: 0, signal: null });
    expect(exit.atMs - atMs).toBeLessThan(20_000);
    // The first process reads the row and cannot reach the service. The second process resumes the request.
    setup.misbehave((exchange) => exchange.kind !== "other");
    const later = await setup.another();
    const [id] = setup.service.tasks.keys();
    expect((await readOnlyTaskRow(later)).task_id).toBe(id);
    await later.end();
    setup.misbehave(undefined);
    await (await setup.another()).call("list_tasks", {});
    await waitForSavedFiles(setup);
    expect(setup.service.count("create")).toBe(1);
  });

  it("several at once are all waited for", async () => {
    const setup = await openFaultSetup({ start: { isInProcess: false } });
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "create") return false;
      acceptSubmission(service, exchange);
      setTimeout(() => service.answer(exchange, response), 300);
      return true;
    });
    setup.server.begin("generate_audio", { prompt: "Just sent, one", wait_seconds: 20 });
    setup.server.begin("generate_audio", { prompt: "Just sent, two", wait_seconds: 20 });
    await waitForExchanges(setup, "create", 2);
    await setup.server.end();
    const rows = await readTaskRows(await setup.another());
    expect(rows.map(({ task_id: id }) => id).sort()).toEqual([...setup.service.tasks.keys()].sort());
  });

  it("whose answer comes too late does not delay the end, and its row in the list resolves it", async () => {
    const setup = await openFaultSetup({ start: { isInProcess: false } });
    answerLate(setup, 90_000);
    setup.server.begin("generate_audio", {
      prompt: `Too late. ${"A long text that no list shows in full. ".repeat(4)}`,
      speed: 1.25,
      wait_seconds: 20,
    });
    await waitForExchanges(setup, "create");
    const atMs = performance.now();
    const exit = await setup.server.end();
    expect(exit).toMatchObject({ code: 0, signal: null });
    expect(exit.atMs - atMs).toBeLessThan(20_000);
    setup.service.dropConnections();
    // In a new conversation, the assistant knows about the text only what the list shows.
    const later = await setup.another();
    const row = await readOnlyTaskRow(later);
    expect(row).toMatchObject({ status: "unresolved" });
    expect(row.next_step).toMatch(/download_audio with task_id req-[0-9a-f]{32} /);
    expect(row.next_step).toContain("never pays twice");
    // `get_task` submits nothing.
    const handle = handleIn(row);
    const polledTask = taskOf(await later.call("get_task", { task_id: handle }));
    expect(polledTask.status).toBe("waiting");
    expect(setup.service.count("create")).toBe(1);
    const task = await waitUntil("the audio", async () => {
      const outcome = await later.call("download_audio", { task_id: handle });
      return outcome.isError === true ? null : taskOf(outcome);
    });
    const [first, ...repeats] = setup.service.exchanges.filter(({ kind }) => kind === "create");
    for (const repeat of repeats) {
      expect(repeat).toMatchObject({ key: first?.key, body: first?.body });
    }
    expect(repeats.length).toBeGreaterThan(0);
    expect(setup.service.tasks.size).toBe(1);
    expect(task).toMatchObject({ status: "succeeded", task_id: [...setup.service.tasks.keys()][0] });
    // The handle stays valid.
    for (const tool of ["get_task", "download_audio"]) {
      expect(taskOf(await later.call(tool, { task_id: handle })).audio?.path).toBe(task.audio?.path);
    }
  });

  it("the handle of a request that the service refuses says so, and leaves nothing", async () => {
    const setup = await openFaultSetup({ env: ROOM_FOR_ONE, start: { isInProcess: false } });
    setup.misbehaveNext("create", () => undefined);
    setup.server.begin("generate_audio", { prompt: "Never taken", wait_seconds: 20 });
    await waitForExchanges(setup, "create");
    await setup.server.end();
    setup.service.dropConnections();
    setup.misbehaveNext("create", refusing(402, "insufficient_credits"), 9);
    const later = await setup.another();
    const handle = handleIn(await readOnlyTaskRow(later));
    expect(codeOf(await later.call("download_audio", { task_id: handle }))).toBe("insufficient_credits");
  });
});

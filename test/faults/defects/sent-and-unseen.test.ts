/** A request is under way when the program stops or its caller cancels: it is completed, or never sent. */
import { describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer, whyNoPostgres } from "../../support/postgres-server.ts";
import { type Bench, closeBenchesAfterEach, openBench } from "../bench.ts";
import type { RawServer } from "../raw-server.ts";
import { accepted, next } from "../wire.ts";
import {
  codeOf,
  eventually,
  exchanged,
  handleIn,
  onlyRow,
  pause,
  rowsOf,
  savedByItself,
  taskOf,
  type Wire,
  wireTo,
} from "./outside.ts";

closeBenchesAfterEach();

const ROOM_FOR_ONE = { AUDIO_CREDIT_BUDGET: "150" };

const ENDINGS: Readonly<Record<string, (server: RawServer) => void>> = {
  "the end of stdin": (server) => void server.child.stdin.end(),
  SIGTERM: (server) => void server.child.kill("SIGTERM"),
  SIGINT: (server) => void server.child.kill("SIGINT"),
  // A terminal sends the signal to every process, and a starter such as npx sends another one.
  "SIGINT, twice": (server) => twice(server, "SIGINT"),
  "SIGTERM, twice": (server) => twice(server, "SIGTERM"),
};

function twice(server: RawServer, signal: NodeJS.Signals): void {
  server.child.kill(signal);
  setTimeout(() => server.child.kill(signal), 40);
}

/** Receives the first create, and answers it only after a while. */
function answerLate(bench: Bench, afterMs: number): void {
  bench.misbehave(
    next("create", (response, exchange, service) => {
      accepted(service, exchange);
      setTimeout(() => {
        if (!response.destroyed) service.answer(exchange, response);
      }, afterMs);
    }),
  );
}

// The answer to a create arrives shortly after the client has left. The stop waits for it, because it contains the
// task id.
describe("a create that is on its way when the program is asked to stop", () => {
  it.each(Object.keys(ENDINGS))("by %s is waited for, and its id is kept", async (ending) => {
    const bench = await openBench();
    answerLate(bench, 400);
    bench.server.begin("generate_audio", { prompt: "Just sent", wait_seconds: 20 });
    await exchanged(bench, "create");
    const atMs = performance.now();
    ENDINGS[ending]?.(bench.server);
    const exit = await bench.server.exitWithin(3000);
    expect(exit).toMatchObject({ code: 0, signal: null });
    expect(exit.atMs - atMs).toBeLessThan(2000);
    // First read by a program that sends nothing, then resumed by one that may send.
    bench.misbehave((exchange) => exchange.kind !== "other");
    const later = await bench.another();
    const [id] = bench.service.tasks.keys();
    expect((await onlyRow(later)).task_id).toBe(id);
    await later.end();
    bench.misbehave(undefined);
    await (await bench.another()).call("list_tasks", {});
    await savedByItself(bench);
    expect(bench.service.count("create")).toBe(1);
  });

  it("several at once are all waited for", async () => {
    const bench = await openBench();
    bench.misbehave((exchange, response, service) => {
      if (exchange.kind !== "create") return false;
      accepted(service, exchange);
      setTimeout(() => service.answer(exchange, response), 300);
      return true;
    });
    bench.server.begin("generate_audio", { prompt: "Just sent, one", wait_seconds: 20 });
    bench.server.begin("generate_audio", { prompt: "Just sent, two", wait_seconds: 20 });
    await exchanged(bench, "create", 2);
    await bench.server.end();
    const rows = await rowsOf(await bench.another());
    expect(rows.map(({ task_id: id }) => id).sort()).toEqual([...bench.service.tasks.keys()].sort());
  });

  it("whose answer comes too late does not delay the end, and its row in the list resolves it", async () => {
    const bench = await openBench();
    answerLate(bench, 5000);
    bench.server.begin("generate_audio", {
      prompt: `Too late. ${"A long text that no list shows in full. ".repeat(4)}`,
      speed: 1.25,
      wait_seconds: 20,
    });
    await exchanged(bench, "create");
    const atMs = performance.now();
    const exit = await bench.server.end();
    expect(exit).toMatchObject({ code: 0, signal: null });
    expect(exit.atMs - atMs).toBeLessThan(2000);
    bench.service.dropConnections();
    // A new conversation, which knows nothing about the text but what the list shows.
    const later = await bench.another();
    const row = await onlyRow(later);
    expect(row).toMatchObject({ status: "unresolved" });
    expect(row.next_step).toMatch(/download_audio with task_id req-[0-9a-f]{32} /);
    expect(row.next_step).toContain("never pays twice");
    // A query sends nothing.
    const handle = handleIn(row);
    const asked = taskOf(await later.call("get_task", { task_id: handle }));
    expect(asked.status).toBe("waiting");
    expect(bench.service.count("create")).toBe(1);
    const task = await eventually("the audio", async () => {
      const outcome = await later.call("download_audio", { task_id: handle });
      return outcome.isError === true ? null : taskOf(outcome);
    });
    const [first, ...repeats] = bench.service.exchanges.filter(({ kind }) => kind === "create");
    for (const repeat of repeats) {
      expect(repeat).toMatchObject({ key: first?.key, body: first?.body });
    }
    expect(repeats.length).toBeGreaterThan(0);
    expect(bench.service.tasks.size).toBe(1);
    expect(task).toMatchObject({ status: "succeeded", task_id: [...bench.service.tasks.keys()][0] });
    // The handle stays valid.
    for (const tool of ["get_task", "download_audio"]) {
      expect(taskOf(await later.call(tool, { task_id: handle })).audio?.path).toBe(task.audio?.path);
    }
  });

  it("the handle of a request that the service refuses says so, and leaves nothing", async () => {
    const bench = await openBench({ env: ROOM_FOR_ONE });
    bench.misbehave(next("create", () => undefined));
    bench.server.begin("generate_audio", { prompt: "Never taken", wait_seconds: 20 });
    await exchanged(bench, "create");
    await bench.server.end();
    bench.service.dropConnections();
    bench.misbehave(
      next("create", (response, _, service) => service.refuse(response, 402, "insufficient_credits"), 9),
    );
    const later = await bench.another();
    const handle = handleIn(await onlyRow(later));
    expect(codeOf(await later.call("download_audio", { task_id: handle }))).toBe("insufficient_credits");
  });
});

/** Calls back at the admission: the statement to PostgreSQL that makes a record `unresolved`. */
function atAdmission(wire: Wire, then: () => Promise<void> | "deafen"): Promise<void> {
  return new Promise((resolve) => {
    wire.onSent = (bytes) => {
      if (!/status\\*":\\*"unresolved/.test(bytes)) return undefined;
      wire.onSent = undefined;
      resolve();
      return then();
    };
  });
}

async function onPostgres(env: Record<string, string> = {}): Promise<{ bench: Bench; wire: Wire }> {
  const postgres = await PostgresServer.start();
  onTestFinished(() => postgres.remove());
  const wire = await wireTo(postgres);
  const bench = await openBench({ env: { AUDIO_STORE_URL: wire.url, ...env } });
  await bench.server.call("list_tasks", {});
  return { bench, wire };
}

// The admission may take time, so the job checks for cancellation once more, just before the request leaves.
describe.skipIf(whyNoPostgres() !== undefined)(
  "while the ledger is still writing that a create may be sent",
  () => {
    it("a cancelled call is not sent, and reserves nothing", async () => {
      const { bench, wire } = await onPostgres(ROOM_FOR_ONE);
      const admitted = atAdmission(wire, () => pause(400));
      const id = bench.server.begin("generate_audio", { prompt: "Cancelled in time", wait_seconds: 20 });
      await admitted;
      bench.server.cancel(id);
      await pause(600);
      expect(bench.service.exchanges).toEqual([]);
      const another = await bench.server.call("generate_audio", {
        prompt: "There is room for it",
        wait_seconds: 5,
      });
      expect(taskOf(another).status).toBe("succeeded");
      expect(bench.service.tasks.size).toBe(1);
    });

    it("a request with two callers is kept if one of them cancels", async () => {
      const { bench, wire } = await onPostgres();
      const admitted = atAdmission(wire, () => pause(300));
      const call = { prompt: "Wanted by one of two", wait_seconds: 20 };
      const first = bench.server.begin("generate_audio", call);
      const second = bench.server.begin("generate_audio", call);
      await admitted;
      bench.server.cancel(first);
      expect(taskOf(await bench.server.outcomeOf(second)).status).toBe("succeeded");
      expect(bench.service.tasks.size).toBe(1);
    });

    it.each(["SIGTERM", "the end of stdin"])("%s reserves nothing and sends nothing", async (ending) => {
      const { bench, wire } = await onPostgres(ROOM_FOR_ONE);
      const admitted = atAdmission(wire, () => pause(300));
      bench.server.begin("generate_audio", { prompt: "Stopped in time", wait_seconds: 20 });
      await admitted;
      ENDINGS[ending]?.(bench.server);
      expect(await bench.server.exitWithin(3000)).toMatchObject({ code: 0, signal: null });
      expect(bench.service.exchanges).toEqual([]);
      const later = await bench.another();
      const another = await later.call("generate_audio", { prompt: "There is room for it", wait_seconds: 5 });
      expect(taskOf(another).status).toBe("succeeded");
    });

    it("a lost answer is requested again and returns the same admission", async () => {
      const { bench, wire } = await onPostgres(ROOM_FOR_ONE);
      const admitted = atAdmission(wire, () => "deafen");
      const call = bench.server.call("generate_audio", { prompt: "Admitted once", wait_seconds: 5 });
      await admitted;
      expect(taskOf(await call).status).toBe("succeeded");
      expect(bench.service.tasks.size).toBe(1);
    });
  },
);

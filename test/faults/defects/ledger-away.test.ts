/** The ledger is unavailable for some seconds while a paid task runs: its audio is saved, and its row exists. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TABLE_NAMES } from "../../../src/ledger/postgres/postgres-tables.ts";
import { PostgresServer, whyNoPostgres } from "../../support/postgres-server.ts";
import { type Bench, closeBenchesAfterEach, openBench } from "../bench.ts";
import { accepted, next } from "../wire.ts";
import {
  codeOf,
  eventually,
  exchanged,
  fillUp,
  ledgerFile,
  onlyRow,
  pause,
  savedByItself,
  taskOf,
  textOf,
} from "./outside.ts";

closeBenchesAfterEach();

/** The recovery window, during which the job waits for the ledger, is 39 s then. */
const PATIENT = { AUDIO_TIME_SCALE: "0.01" };

async function expectSaved(bench: Bench): Promise<void> {
  const [name] = await savedByItself(bench, 1, 12_000);
  const [task, ...others] = bench.service.tasks.values();
  expect(others).toEqual([]);
  expect(await readFile(join(bench.workplace.outputDir, name ?? ""))).toEqual(task?.audio);
  const row = await eventually("its row", async () => {
    const shown = await onlyRow(bench.server);
    return shown.status === "succeeded" && shown.audio_path != null && shown;
  });
  expect(row.task_id).toBe(task?.id);
  expect(bench.service.count("create")).toBe(1);
}

// A full disk, or a person who copies the file. Once the task id is known, the job waits until the ledger can be
// written.
describe("a state disk that is full for a second", () => {
  it("while the task runs does not prevent the saving", async () => {
    const bench = await openBench({ env: PATIENT, service: { processingMs: 500 } });
    taskOf(await bench.server.call("generate_audio", { prompt: "No room in the watch", wait_seconds: 0 }));
    const empty = fillUp(ledgerFile(bench));
    await pause(1000);
    empty();
    await expectSaved(bench);
  });

  it("between the send and the 202 loses no id", async () => {
    const bench = await openBench({ env: PATIENT });
    await bench.server.call("list_tasks", {});
    const file = ledgerFile(bench);
    let empty = (): void => undefined;
    bench.misbehave((exchange) => {
      if (exchange.kind === "create") empty = fillUp(file);
      return false;
    });
    const id = bench.server.begin("generate_audio", { prompt: "No room at the answer", wait_seconds: 20 });
    await exchanged(bench, "create");
    await pause(1000);
    empty();
    expect(taskOf(await bench.server.outcomeOf(id)).status).toBe("succeeded");
    await expectSaved(bench);
  });

  it("between the send and the 202 is reported, with the id, to a call that does not wait", async () => {
    const bench = await openBench({ env: PATIENT });
    await bench.server.call("list_tasks", {});
    const file = ledgerFile(bench);
    let empty = (): void => undefined;
    bench.misbehave((exchange) => {
      if (exchange.kind === "create") empty = fillUp(file);
      return false;
    });
    const outcome = await bench.server.call("generate_audio", { prompt: "No room at all", wait_seconds: 0 });
    expect(taskOf(outcome).task_id).toBe([...bench.service.tasks.keys()][0]);
    empty();
    await expectSaved(bench);
  });

  it("before anything was sent fails the call, and reserves nothing", async () => {
    const bench = await openBench({ env: { ...PATIENT, AUDIO_CREDIT_BUDGET: "150" } });
    await bench.server.call("list_tasks", {});
    const empty = fillUp(ledgerFile(bench));
    const refused = await bench.server.call("generate_audio", {
      prompt: "No room at first",
      wait_seconds: 5,
    });
    expect(codeOf(refused)).toBe("store_unavailable");
    expect(bench.service.exchanges).toEqual([]);
    empty();
    taskOf(await bench.server.call("generate_audio", { prompt: "There is room now", wait_seconds: 5 }));
  });
});

// A process writes again what it knows, even if somebody deleted it.
describe("a record that was deleted while its job runs", () => {
  it("is written again from memory, with its id and its file", async () => {
    const bench = await openBench({ env: PATIENT, service: { processingMs: 600 } });
    taskOf(await bench.server.call("generate_audio", { prompt: "Wiped away", wait_seconds: 0 }));
    ledgerFile(bench).exec("DELETE FROM agm_records");
    await expectSaved(bench);
  });
});

describe.skipIf(whyNoPostgres() !== undefined)("a PostgreSQL server that is down for a second", () => {
  async function onPostgres(processingMs: number): Promise<{ bench: Bench; postgres: PostgresServer }> {
    const postgres = await PostgresServer.start();
    onTestFinished(() => postgres.remove());
    const bench = await openBench({
      env: { ...PATIENT, AUDIO_STORE_URL: postgres.url },
      service: { processingMs },
    });
    await bench.server.call("list_tasks", {});
    return { bench, postgres };
  }

  it("and then hangs is named to a call that cannot wait, and the service is not blamed", async () => {
    const { bench, postgres } = await onPostgres(0);
    await bench.server.call("list_tasks", {});
    postgres.freeze();
    for (const [tool, args] of [
      ["generate_audio", { prompt: "PostgreSQL is silent", wait_seconds: 1 }],
      ["get_task", { task_id: "unheard-of", wait_seconds: 1 }],
    ] as const) {
      const outcome = await bench.server.call(tool, args);
      expect(codeOf(outcome)).toBe("store_unavailable");
      expect(textOf(outcome)).toContain("PostgreSQL database postgres on 127.0.0.1");
    }
    postgres.thaw();
    expect(bench.service.count("create")).toBe(0);
  });

  it.each(["killed", "frozen"])("(%s) while the task runs does not prevent the saving", async (how) => {
    const { bench, postgres } = await onPostgres(500);
    taskOf(
      await bench.server.call("generate_audio", { prompt: "PostgreSQL gone in the watch", wait_seconds: 0 }),
    );
    if (how === "killed") await postgres.kill();
    else postgres.freeze();
    await pause(1000);
    if (how === "killed") await postgres.start();
    else postgres.thaw();
    await expectSaved(bench);
  });

  it("between the send and the 202 loses no id", async () => {
    const { bench, postgres } = await onPostgres(0);
    bench.misbehave(
      next("create", async (response, exchange, service) => {
        accepted(service, exchange);
        await postgres.kill();
        service.answer(exchange, response);
      }),
    );
    const id = bench.server.begin("generate_audio", {
      prompt: "PostgreSQL gone at the answer",
      wait_seconds: 20,
    });
    await exchanged(bench, "create");
    await pause(1000);
    await postgres.start();
    expect(taskOf(await bench.server.outcomeOf(id)).status).toBe("succeeded");
    await expectSaved(bench);
  });

  it("that loses all data while the task runs still gets the audio and its row", async () => {
    const { bench, postgres } = await onPostgres(1000);
    taskOf(await bench.server.call("generate_audio", { prompt: "PostgreSQL lost all", wait_seconds: 0 }));
    await postgres.command(`TRUNCATE ${TABLE_NAMES.join(", ")}`);
    await expectSaved(bench);
  });
});

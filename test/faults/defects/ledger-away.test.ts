/**
 * The ledger is unavailable for some seconds while a paid task runs. The task's audio is saved nevertheless, and
 * `list_tasks` shows the task.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DELETE_REQUESTS_SQL } from "../../support/ledger-rows.ts";
import { PostgresServer, whyNoPostgres } from "../../support/postgres-server.ts";
import { skipBecause } from "../../support/skip-because.ts";
import { generate, resultTextOf, taskOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import {
  codeOf,
  fillUp,
  ledgerFile,
  pause,
  readOnlyTaskRow,
  waitForSavedFiles,
  waitUntil,
} from "./read-from-outside.ts";

closeAfterEach();

/** With this time scale, the recovery timeout is 39 s. A job waits that long for the ledger. */
const PATIENT = { AUDIO_TIME_SCALE: "0.01" };

async function expectSaved(setup: FaultSetup): Promise<void> {
  const [name] = await waitForSavedFiles(setup, 1, 12_000);
  const [task, ...others] = setup.service.tasks.values();
  expect(others).toEqual([]);
  expect(await readFile(join(setup.testFolders.outputDir, name ?? ""))).toEqual(task?.audio);
  const row = await waitUntil("its row", async () => {
    const shown = await readOnlyTaskRow(setup.server);
    return shown.status === "succeeded" && shown.audio_path != null && shown;
  });
  expect(row.task_id).toBe(task?.id);
  expect(setup.service.count("create")).toBe(1);
}

// The disk may be full, or a person may copy the ledger file. Once the task id is known, the job waits until it can
// write to the ledger.
describe("a state disk that is full for a second", () => {
  it("while the task runs does not prevent the saving", async () => {
    const setup = await openFaultSetup({ env: PATIENT, service: { processingMs: 500 } });
    await generate(setup.server, { prompt: "No room in the watch", wait_seconds: 0 });
    const empty = fillUp(ledgerFile(setup));
    await pause(1000);
    empty();
    await expectSaved(setup);
  });

  it("between the send and the 202 is reported, with the id, to a call that does not wait", async () => {
    const setup = await openFaultSetup({ env: PATIENT });
    await setup.server.call("list_tasks", {});
    const file = ledgerFile(setup);
    let empty = (): void => undefined;
    setup.misbehave((exchange) => {
      if (exchange.kind === "create") empty = fillUp(file);
      return false;
    });
    const outcome = await setup.server.call("generate_audio", { prompt: "No room at all", wait_seconds: 0 });
    expect(taskOf(outcome).task_id).toBe([...setup.service.tasks.keys()][0]);
    empty();
    await expectSaved(setup);
  });

  it("before anything was sent fails the call, and reserves nothing", async () => {
    const setup = await openFaultSetup({ env: { ...PATIENT, AUDIO_CREDIT_BUDGET: "150" } });
    await setup.server.call("list_tasks", {});
    const empty = fillUp(ledgerFile(setup));
    const refused = await setup.server.call("generate_audio", {
      prompt: "No room at first",
      wait_seconds: 5,
    });
    expect(codeOf(refused)).toBe("store_unavailable");
    expect(setup.service.exchanges).toEqual([]);
    empty();
    await generate(setup.server, { prompt: "There is room now", wait_seconds: 5 });
  });
});

// A process writes its record again from memory if somebody has deleted the record.
it("a record that was deleted while its job runs is written again from memory, with its id and its file", async () => {
  const setup = await openFaultSetup({ env: PATIENT, service: { processingMs: 600 } });
  await generate(setup.server, { prompt: "Wiped away", wait_seconds: 0 });
  ledgerFile(setup).exec(DELETE_REQUESTS_SQL);
  await expectSaved(setup);
});

describe("a PostgreSQL server that is down for a second", skipBecause(whyNoPostgres()), () => {
  async function onPostgres(processingMs: number): Promise<{ setup: FaultSetup; postgres: PostgresServer }> {
    const postgres = await PostgresServer.start();
    onTestFinished(() => postgres.remove());
    const setup = await openFaultSetup({
      env: { ...PATIENT, AUDIO_STORE_URL: postgres.url },
      service: { processingMs },
    });
    await setup.server.call("list_tasks", {});
    return { setup, postgres };
  }

  it("and then hangs is named to a call that cannot wait, and the service is not blamed", async () => {
    const { setup, postgres } = await onPostgres(0);
    await setup.server.call("list_tasks", {});
    postgres.freeze();
    for (const [tool, args] of [
      ["generate_audio", { prompt: "PostgreSQL is silent", wait_seconds: 1 }],
      ["get_task", { task_id: "unheard-of", wait_seconds: 1 }],
    ] as const) {
      const outcome = await setup.server.call(tool, args);
      expect(codeOf(outcome)).toBe("store_unavailable");
      expect(resultTextOf(outcome)).toContain("PostgreSQL database postgres on 127.0.0.1");
    }
    postgres.thaw();
    expect(setup.service.count("create")).toBe(0);
  });

  it.each(["killed", "frozen"])("(%s) while the task runs does not prevent the saving", async (fault) => {
    const { setup, postgres } = await onPostgres(500);
    await generate(setup.server, { prompt: "PostgreSQL gone in the watch", wait_seconds: 0 });
    if (fault === "killed") await postgres.kill();
    else postgres.freeze();
    await pause(1000);
    if (fault === "killed") await postgres.start();
    else postgres.thaw();
    await expectSaved(setup);
  });
});

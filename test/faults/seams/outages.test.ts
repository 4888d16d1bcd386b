/** A short outage ends no loop of a living process and loses no call, and a command that is interrupted tells only what it has done. */
import { renameSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { resultTextOf } from "../../support/tool-result.ts";
import { fillUp, ledgerFile, listSavedNames, pause, waitUntil } from "../defects/read-from-outside.ts";
import type { FaultSetup } from "../fault-setup.ts";
import {
  anotherOfTasks,
  beginTask,
  chapters,
  closeSeamsAfterEach,
  endOfTask,
  narrate,
  openSeams,
  start,
  waitForEnd,
  waitForTasks,
} from "./seam-setup.ts";

closeSeamsAfterEach();

const SIX = chapters("Zero.", "One.", "Two.", "Three.", "Four.", "Five.");

/** Makes the ledger unavailable for some seconds. */
const OUTAGES: readonly (readonly [string, (setup: FaultSetup) => Promise<void>])[] = [
  [
    "whose disk is full",
    async (setup) => {
      const empty = fillUp(ledgerFile(setup));
      await pause(3000);
      empty();
    },
  ],
  [
    "that another program locks",
    async (setup) => {
      const db = ledgerFile(setup);
      db.exec("BEGIN IMMEDIATE");
      await pause(8000);
      db.exec("COMMIT");
    },
  ],
  [
    "without one of its tables",
    async (setup) => {
      const db = ledgerFile(setup);
      db.exec("PRAGMA legacy_alter_table = ON");
      db.exec("ALTER TABLE agm_part RENAME TO agm_part_away");
      await pause(3000);
      db.exec("ALTER TABLE agm_part_away RENAME TO agm_part");
    },
  ],
];

it("a ledger whose folder is away for seconds, so that another one is made in its place lets a call continue its narration when it is back, as the call before was told", async () => {
  const setup = await openSeams({ service: { processingMs: 200 } });
  const narration_id = await start(setup.server, SIX, 5000);
  await waitForTasks(setup, 2);
  const { stateDir } = setup.testFolders;
  renameSync(stateDir, `${stateDir}.away`);
  await pause(3000);
  await setup.server.call("narrate", { narration_id, wait_seconds: 1 });
  rmSync(stateDir, { recursive: true, force: true });
  renameSync(`${stateDir}.away`, stateDir);
  expect((await waitForEnd(setup.server, narration_id)).status).toBe("finished");
  expect(setup.service.tasks.size).toBe(6);
});

describe("a ledger", () => {
  it.each(OUTAGES)("%s for seconds ends no narration, which ends without another call", async (_, fail) => {
    const setup = await openSeams({ service: { processingMs: 200 } });
    await start(setup.server, SIX, 5000, { file_name: "whole" });
    await waitForTasks(setup, 2);
    await fail(setup);
    await waitUntil("the file", async () => (await listSavedNames(setup)).includes("whole.pcm"), 30_000);
    expect(setup.service.tasks.size).toBe(6);
  });

  it.each(OUTAGES)("%s for seconds ends no MCP task of a narration", async (_, fail) => {
    const setup = await openSeams({ service: { processingMs: 200 } });
    const client = await anotherOfTasks(setup);
    const args = { text: SIX, output_format: "pcm", max_credits: 5000, file_name: "whole" };
    const taskId = await beginTask(client, "narrate", args);
    await waitForTasks(setup, 2);
    await fail(setup);
    expect(await endOfTask(client, taskId)).toContain("whole.pcm");
    expect(setup.service.tasks.size).toBe(6);
  });

  it.each(OUTAGES.slice(0, 2))(
    "%s while the last part is downloaded does not prevent the joining",
    async (_, fail) => {
      const setup = await openSeams();
      let failing: Promise<void> | undefined;
      setup.misbehave(async ({ kind }, _response, service) => {
        if (kind !== "content" || service.tasks.size < 6) return false;
        failing ??= fail(setup);
        await pause(500);
        return false;
      });
      await start(setup.server, SIX, 5000, { file_name: "whole" });
      await waitUntil("the outage", () => failing !== undefined);
      await failing;
      await waitUntil("the file", async () => (await listSavedNames(setup)).includes("whole.pcm"), 30_000);
      expect(setup.service.tasks.size).toBe(6);
    },
  );
});

it.each([
  ["generate_audio", 3000],
  ["generate_audio", 12_000],
  ["narrate", 3000],
  ["narrate", 12_000],
] as const)(
  "a ledger that is locked while a call begins loses no %s in %i ms, which a repeat pays once",
  async (tool, ms) => {
    const setup = await openSeams();
    await setup.server.call("list_tasks", {});
    const text = "Asked in a bad moment.";
    const args = tool === "narrate" ? { text, output_format: "pcm", max_credits: 5000 } : { prompt: text };
    const db = ledgerFile(setup);
    db.exec("BEGIN IMMEDIATE");
    const id = setup.server.begin(tool, { ...args, wait_seconds: 1 });
    await pause(ms);
    db.exec("COMMIT");
    const first = await setup.server.outcomeOf(id);
    if (first.isError === true) expect(resultTextOf(first)).toMatch(/store_unavailable[\s\S]*What to do/);
    if (tool === "narrate") {
      const { narration_id } = await narrate(setup.server, { text, max_credits: 5000, wait_seconds: 0 });
      expect((await waitForEnd(setup.server, narration_id)).status).toBe("finished");
    } else {
      const said = await waitUntil("the audio", async () => {
        const again = resultTextOf(await setup.server.call(tool, { ...args, wait_seconds: 5 }));
        return again.startsWith("Saved") && again;
      });
      expect(said).toContain(".mp3");
    }
    expect(setup.service.tasks.size).toBe(1);
  },
);

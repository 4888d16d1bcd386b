/** What one call wants (`replace`, a stop) concerns that call, and paid parts are in a file whatever ended the work. */
import { readFileSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { resultTextOf } from "../../support/tool-result.ts";
import { listSavedNames, pause, waitForExchanges, waitUntil } from "../defects/read-from-outside.ts";
import type { FaultSetup } from "../fault-setup.ts";
import { refusing } from "../wire.ts";
import {
  anotherOfTasks,
  beginTask,
  cancelTask,
  chapters,
  closeSeamsAfterEach,
  HELD_MS,
  narrate,
  openSeams,
  release,
  start,
  waitForEnd,
  waitForTasks,
} from "./seam-setup.ts";

closeSeamsAfterEach();

const PRECIOUS = { prompt: "The only copy.", output_format: "pcm", file_name: "y", wait_seconds: 20 };

async function savePrecious(setup: FaultSetup): Promise<Buffer> {
  await setup.server.call("generate_audio", PRECIOUS);
  return readFileSync(join(setup.testFolders.outputDir, "y.pcm"));
}

const expectKept = ({ testFolders }: FaultSetup, bytes: Buffer): void =>
  expect(readFileSync(join(testFolders.outputDir, "y.pcm")).equals(bytes)).toBe(true);

describe("replace of an earlier call replaces nothing in a later call without it", () => {
  it.each(["its process was killed", "it was an MCP task", "it was stopped", "it still waits"])(
    "although %s",
    async (how) => {
      const setup = await openSeams();
      const bytes = await savePrecious(setup);
      setup.service.processingMs = HELD_MS;
      const text = chapters("Some words of mine.", "And some more.");
      const isTask = how === "it was an MCP task";
      const first = isTask ? await anotherOfTasks(setup) : await setup.another({}, { isInProcess: false });
      const { narration_id } = await narrate(setup.server, { text });
      const call = { text, output_format: "pcm", max_credits: 5000, file_name: "x", replace: true };
      if (isTask) await beginTask(first, "narrate", call);
      else first.begin("narrate", { ...call, wait_seconds: 60 });
      await waitForTasks(setup, 3);
      await pause(300);
      if (how === "it was stopped") await narrate(setup.server, { narration_id, stop: true });
      else if (how === "its process was killed") {
        await first.kill();
      }
      const named = { narration_id, max_credits: 5000, file_name: "y", wait_seconds: 0 };
      await narrate(setup.server, named);
      release(setup.service);
      expect((await waitForEnd(setup.server, narration_id)).status).toBe("finished");
      await waitUntil(
        "the file",
        async () =>
          (await listSavedNames(setup)).includes("y.vtt") ||
          (await listSavedNames(setup)).includes("y-2.pcm"),
      );
      expectKept(setup, bytes);
    },
  );

  it("although it was generate_audio, cancelled before it was sent", async () => {
    const setup = await openSeams();
    const bytes = await savePrecious(setup);
    setup.misbehaveNext("create", refusing(429, "rate_limit", "later", 300));
    const call = { prompt: "Another text.", output_format: "pcm", file_name: "y" };
    const id = setup.server.begin("generate_audio", { ...call, replace: true, wait_seconds: 30 });
    await waitForExchanges(setup, "create", 2);
    await pause(100);
    setup.server.cancel(id);
    await pause(100);
    await setup.server.call("generate_audio", { ...call, wait_seconds: 20 });
    await waitUntil("the file", async () => (await listSavedNames(setup)).length > 1);
    expectKept(setup, bytes);
    expect(await listSavedNames(setup)).toEqual(["y-2.pcm", "y.pcm"]);
  });

  it.each([{ file_name: "y" }, {}, { file_name: "other" }])(
    "although it was generate_audio, cancelled after it was sent, and the later call names %o",
    async (name) => {
      const setup = await openSeams();
      const bytes = await savePrecious(setup);
      setup.service.processingMs = HELD_MS;
      const call = { prompt: "Another text.", output_format: "pcm" };
      const replacing = { ...call, file_name: "y", replace: true, wait_seconds: 30 };
      const id = setup.server.begin("generate_audio", replacing);
      await waitForTasks(setup, 2);
      await pause(150);
      setup.server.cancel(id);
      await pause(500);
      const later = setup.server.call("generate_audio", { ...call, ...name, wait_seconds: 20 });
      await pause(1000);
      release(setup.service);
      expect(resultTextOf(await later)).toMatch(/^Saved/);
      expectKept(setup, bytes);
    },
  );

  it("and replaces no file that a person has changed meanwhile", async () => {
    const setup = await openSeams();
    await savePrecious(setup);
    setup.service.processingMs = HELD_MS;
    const narration_id = await start(setup.server, "Some words of mine.", 5000, {
      file_name: "y",
      replace: true,
    });
    await waitForTasks(setup, 2);
    const edited = Buffer.from("a person's work");
    writeFileSync(join(setup.testFolders.outputDir, "y.pcm"), edited);
    release(setup.service);
    expect((await waitForEnd(setup.server, narration_id)).status).toBe("finished");
    expectKept(setup, edited);
  });
});

describe("a narration with three accepted parts", () => {
  const FOUR = chapters("Sentence zero.", "Sentence one.", "Sentence two.", "Sentence three.");

  it.each([
    "a cancelled call, and the death of its process",
    "a stop by another process, and the death of its driver",
    "a lower limit, and the death of its process",
    "tasks/cancel in another process than the driver, which dies",
  ])("that ends by %s has its paid parts in a file after the next call, and pays no more", async (how) => {
    const processingMsOf = (prompt: string): number => (prompt.includes("zero") ? 0 : HELD_MS);
    const setup = await openSeams({ service: { processingMsOf } });
    const { narration_id } = await narrate(setup.server, { text: FOUR });
    const isTask = how.startsWith("tasks/cancel");
    const start = { isInitialized: !isTask, isInProcess: false };
    const driver = await setup.another({}, start);
    const args = { text: FOUR, output_format: "pcm", max_credits: 5000 };
    let id = 0;
    let taskId = "";
    if (isTask) taskId = await beginTask(driver, "narrate", args);
    else id = driver.begin("narrate", { ...args, wait_seconds: 60 });
    await waitUntil("the first part", async () => {
      const { parts } = await narrate(setup.server, { narration_id, wait_seconds: 0 });
      return setup.service.tasks.size === 3 && parts.saved === 1 && parts.running >= 2;
    });
    await pause(300);
    if (how.startsWith("a cancelled call")) {
      driver.cancel(id);
      await pause(200);
    } else if (how.startsWith("a stop"))
      await narrate(setup.server, { narration_id, stop: true, wait_seconds: 0 });
    else if (how.startsWith("a lower limit"))
      await narrate(driver, { narration_id, max_credits: 100, wait_seconds: 0 });
    else await cancelTask(await anotherOfTasks(setup), taskId);
    await driver.kill();
    release(setup.service);
    const ended = await waitUntil(
      "three saved parts",
      async () => {
        const now = await narrate(setup.server, { narration_id, wait_seconds: 2 });
        return now.parts.saved === 3 && now.files.length > 0 && now;
      },
      20_000,
    );
    expect(ended).toMatchObject({ status: "stopped", credits: { charged: 30, reserved: 0 } });
    expect((await readdir(setup.testFolders.outputDir)).join()).toContain("(incomplete).pcm");
    expect(setup.service.tasks.size).toBe(3);
  });
});

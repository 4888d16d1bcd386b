/** The driver of a narration changes: another client calls, a driver is suspended, or a client stops waiting. */
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { killHard } from "../support/processes.ts";
import { suspend } from "../support/suspend.ts";
import { type ClientEra, startBinClient } from "../support/tool-client.ts";
import { resultTextOf } from "../support/tool-result.ts";
import { buildText, narrationOf, openNarratorEach } from "./narrator.ts";

const narrator = openNarratorEach({}, {}, startBinClient);

/** A busy machine needs seconds to start a process. */
const LONG = { timeout: 20_000, interval: 10 };
const FOUR = buildText("One", "Two", "Three", "Four");
const EIGHT = buildText("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight");

const another = () => startBinClient(narrator.testFolders.env(narrator.service, FAST));

/** Starts a narration in the first client, and returns its id when more than one submission was sent. */
async function startedNarration(text: string): Promise<string> {
  const { narration_id } = await narrator.narrate({ text });
  await narrator.narrate({ narration_id, max_credits: 5000, wait_seconds: 0 });
  await expect.poll(() => narrator.service.count("create"), LONG).toBeGreaterThan(1);
  return narration_id;
}

it("a driver that sleeps past its lease is replaced by a window that may spend, and makes no further task when it wakes", async () => {
  narrator.service.processingMs = 300;
  const narration_id = await startedNarration(EIGHT);
  const other = await another();
  await suspend(narrator.client.pid, narrator.testFolders.stateDir);
  const done = narrationOf(await other.call("narrate", { narration_id, max_credits: 5000 }));
  process.kill(narrator.client.pid, "SIGCONT");
  expect(done).toMatchObject({ status: "finished", credits: { charged: 80 } });
  const shownNarration = await narrator.narrate({ narration_id, max_credits: 5000 });
  await other.close();
  expect(shownNarration.files).toEqual(done.files);
  expect(narrator.service.tasks.size).toBe(8);
});

it("a driver that sleeps past its lease drives again when the window that replaced it dies", async () => {
  narrator.service.processingMs = 1500;
  const narration_id = await startedNarration(EIGHT);
  const other = await another();
  await suspend(narrator.client.pid, narrator.testFolders.stateDir);
  const reported = await other.call("narrate", { narration_id, max_credits: 5000, wait_seconds: 4 });
  expect(narrationOf(reported).status).toBe("running");
  process.kill(narrator.client.pid, "SIGCONT");
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await killHard(other.pid);
  await expect.poll(async () => (await narrator.testFolders.outputNames()).length, LONG).toBeGreaterThan(1);
  expect(await narrator.narrate({ narration_id })).toMatchObject({ status: "finished" });
  expect(narrator.service.tasks.size).toBe(8);
});

it("a limit that is lowered from another window ends the run, and is stated as the reason", async () => {
  narrator.service.processingMs = 4000;
  const narration_id = await startedNarration(EIGHT);
  const other = await another();
  const reported = narrationOf(await other.call("narrate", { narration_id, max_credits: 160 }));
  expect(reported).toMatchObject({ status: "stopped", problems: [{ code: "max_credits_reached" }] });
  expect(reported.message).not.toContain("The process that ran it has ended");
  const later = narrationOf(await other.call("narrate", { narration_id }));
  await other.close();
  expect(later.problems).toMatchObject([{ code: "max_credits_reached" }]);
  expect(narrator.service.tasks.size).toBeLessThan(8);
});

it.each<ClientEra>(["legacy", "modern"])(
  "a client's time-out does not stop a narration (%s), and later calls answer sooner",
  async (kind) => {
    narrator.service.processingMs = 3000;
    const client = await startBinClient(narrator.testFolders.env(narrator.service, FAST), kind);
    const args = { text: FOUR, output_format: "pcm", max_credits: 5000 };
    const patience = { timeoutMs: 2500 };
    // The first call of a process is slow, because it loads and compiles modules.
    await client.call("narrate", { ...args, max_credits: 0 });
    await expect(client.call("narrate", args, patience)).rejects.toThrow(/timed out/i);
    const reported = narrationOf(
      await client.call("narrate", { text: FOUR, output_format: "pcm" }, patience),
    );
    expect(["running", "finished"]).toContain(reported.status);
    const again = narrationOf(await client.call("narrate", args, patience));
    expect(["running", "finished"]).toContain(again.status);
    const { narration_id } = reported;
    await expect
      .poll(async () => narrationOf(await client.call("narrate", { narration_id })).status, LONG)
      .toBe("finished");
    await client.close();
    expect(narrator.service.tasks.size).toBe(4);
  },
);

it("a narration that stopped with parts at the service is listed with the parts saved meanwhile, and joined without a further call once all parts are saved", async () => {
  narrator.service.processingMs = 1500;
  const text = buildText("One", "Two");
  const killTarget = await another();
  const { narration_id } = await narrator.narrate({ text });
  void killTarget.call("narrate", { narration_id, max_credits: 5000 }).catch(() => undefined);
  await expect.poll(() => narrator.service.tasks.size, LONG).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await killTarget.call("narrate", { narration_id, stop: true });
  await killHard(killTarget.pid);
  await expect
    .poll(async () => resultTextOf(await narrator.client.call("list_tasks", {})), LONG)
    .toMatch(/stopped, .*, 2 of 2 parts, 20 credits/);
  const joined = await narrator.narrate({ narration_id });
  expect(joined).toMatchObject({ status: "finished", credits: { charged: 20 } });
  expect(narrator.service.count("create")).toBe(2);
});

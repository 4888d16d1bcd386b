/** The API key changes while a narration runs. Credits that the earlier key reserved or paid are counted once. */
import { rm } from "node:fs/promises";
import { afterEach, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { startToolClient } from "../support/tool-client.ts";
import { buildText, Narrator } from "./narrator.ts";

const KEYS = ["sk-first-0123456789abcdef", "sk-second-0123456789abcdef"] as const;
const LATER = { AUDIO_API_KEY: KEYS[1] };
const FOUR = buildText("One", "Two", "Three", "Four");
const FIVE = buildText("One", "Two", "Three", "Four", "Five");
/** A busy machine needs seconds to start a process. */
const LONG = { timeout: 20_000, interval: 10 };

let narrator: Narrator;
afterEach(() => narrator.stop());

/** Starts a narration and returns its id when two parts are saved, for 10 credits each, and two are running. */
async function stoppedHalfway(text = FOUR, max_credits = 600): Promise<string> {
  const isSlow = (prompt: string): boolean => /^(?:Three|Four)/.test(prompt);
  const processingMsOf = (prompt: string): number => (isSlow(prompt) ? 60_000 : 50);
  narrator = await Narrator.start({}, { apiKeys: KEYS, processingMsOf });
  const { narration_id } = await narrator.planWithin(max_credits, { text });
  await narrator.narrate({ narration_id, max_credits, wait_seconds: 0 });
  await expect
    .poll(async () => (await narrator.narrate({ narration_id, wait_seconds: 0 })).parts, LONG)
    .toMatchObject({ saved: 2, running: 2 });
  return narration_id;
}

it("a narration counts tasks that run under the earlier key, and sends nothing that its limit does not allow", async () => {
  const narration_id = await stoppedHalfway(FIVE, 340);
  const submissions = narrator.service.count("create");
  await narrator.restart(LATER);
  expect(await narrator.narrate({ narration_id, wait_seconds: 1 })).toMatchObject({
    parts: { saved: 2, running: 2 },
    credits: { charged: 20, reserved: 300 },
  });
  const again = await narrator.narrate({ narration_id, max_credits: 340, wait_seconds: 1 });
  expect(again.credits).toMatchObject({ charged: 20, reserved: 300 });
  expect(narrator.service.count("create")).toBe(submissions);
});

it("a narration fetches running tasks under the new key, and counts each task once", async () => {
  const narration_id = await stoppedHalfway();
  await narrator.restart(LATER);
  const resumed = await narrator.narrate({ narration_id, max_credits: 600, wait_seconds: 1 });
  expect(resumed).toMatchObject({ status: "running", credits: { charged: 20, reserved: 300 } });
  for (const task of narrator.service.tasks.values()) task.status = "succeeded";
  const done = await narrator.narrate({ narration_id, max_credits: 600 });
  expect(done).toMatchObject({ status: "finished", credits: { charged: 40, reserved: 0 } });
  expect(narrator.service.tasks.size).toBe(4);
});

it("a narration counts charges of the earlier key even if its audio is not here, until it is fetched", async () => {
  narrator = await Narrator.start({}, { apiKeys: KEYS });
  const done = await narrator.narrate({ text: FOUR, max_credits: 600 });
  const { narration_id } = done;
  expect(done).toMatchObject({ status: "finished", credits: { charged: 40 } });
  await rm(narrator.testFolders.outputDir, { recursive: true });
  await narrator.restart(LATER);
  expect(await narrator.narrate({ narration_id })).toMatchObject({ credits: { charged: 40, reserved: 0 } });
  const again = await narrator.narrate({ narration_id, max_credits: 600 });
  expect(again).toMatchObject({ status: "finished", parts: { saved: 4 }, credits: { charged: 40 } });
  expect(narrator.service.tasks.size).toBe(4);
});

it("a narration goes on under the key that wants it, although a process of the other key fetches its parts", async () => {
  const narration_id = await stoppedHalfway(FIVE);
  await narrator.narrate({ narration_id, stop: true });
  const other = await startToolClient({ ...narrator.testFolders.env(narrator.service, FAST), ...LATER });
  await other.call("narrate", { narration_id, max_credits: 1000, wait_seconds: 0 });
  for (const task of narrator.service.tasks.values()) task.status = "succeeded";
  const done = await other.call("narrate", { narration_id, wait_seconds: 30 });
  expect(done.structuredContent).toMatchObject({ status: "finished", parts: { saved: 5 } });
  expect(narrator.service.tasks.size).toBe(5);
  await other.close();
});

it("a plan under another key promises nothing of parts that a narration of the earlier key is making", async () => {
  const narration_id = await stoppedHalfway();
  const shared = buildText("Another beginning", "Three", "Four");
  expect((await narrator.narrate({ text: shared })).message).toContain(narration_id);
  await narrator.restart(LATER);
  expect((await narrator.narrate({ text: `${shared}\n\nThe end.` })).message).not.toContain(narration_id);
});

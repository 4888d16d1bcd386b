/**
 * Retakes of a part that has not begun, and of equal parts. A take that was replaced before it began is not submitted.
 * Equal parts are submitted once.
 */
import { expect, it } from "vitest";
import { buildText, openNarratorEach } from "./narrator.ts";

const narrator = openNarratorEach();

/** A busy machine needs seconds to start a process. */
const LONG = { timeout: 20_000, interval: 20 };

it("a take that is chosen before its part is begun is the only one that is made and paid, and the file has its name", async () => {
  narrator.service.processingMs = 60_000;
  const text = buildText("One", "Two", "Three");
  const startedNarration = { text, max_credits: 5000, file_name: "tale", wait_seconds: 0 };
  const { narration_id } = await narrator.narrate(startedNarration);
  await expect.poll(() => narrator.service.tasks.size, LONG).toBe(2);
  const retakes = [{ quote: "So ends Three", take: 2 }];
  await narrator.narrate({ narration_id, max_credits: 5000, retakes, wait_seconds: 0 });
  narrator.service.processingMs = 0;
  for (const task of narrator.service.tasks.values()) task.status = "succeeded";
  const done = await narrator.narrate({ narration_id, wait_seconds: 25 });
  expect(done).toMatchObject({ status: "finished", credits: { charged: 30 } });
  expect(narrator.service.tasks.size).toBe(3);
  const names = await narrator.testFolders.outputNames();
  expect(names.filter((name) => name !== ".parts")).toEqual(["tale.pcm", "tale.vtt"]);
});

it("equal parts are one task in the plan, the limit and the charge, and are retaken together", async () => {
  const once = await narrator.narrate({ text: buildText("Chorus", "One") });
  const text = buildText("Chorus", "One", "Chorus", "Chorus");
  const plan = await narrator.narrate({ text });
  expect(plan.parts.total).toBe(4);
  expect(plan.credits).toMatchObject({
    estimate: once.credits.estimate,
    suggested_max: once.credits.suggested_max,
  });
  const { narration_id } = plan;
  const limit = { narration_id, max_credits: plan.credits.suggested_max };
  expect(await narrator.narrate(limit)).toMatchObject({ status: "finished", credits: { charged: 20 } });
  const retakes = [{ quote: "So ends Chorus", take: 2 }];
  const again = await narrator.narrate({ narration_id, max_credits: 1000, retakes });
  expect(again).toMatchObject({ status: "finished", credits: { charged: 30 } });
  expect(narrator.service.tasks.size).toBe(3);
});

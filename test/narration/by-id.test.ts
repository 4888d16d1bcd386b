/** Calls that need only the id of a narration: another take of a quoted text, and a choice of chapters. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { resultTextOf } from "../support/tool-result.ts";
import { buildText, narrationOf, openNarratorEach, paragraph } from "./narrator.ts";

const BOOK = ["One", "Two", "Three"].map((name) => `# Chapter ${name}\n\n${paragraph(name)}`).join("\n\n");

const narrator = openNarratorEach();

it("a quote alone requests the second take, once", async () => {
  const { narration_id, files } = await narrator.narrate({
    text: buildText("One", "Two"),
    max_credits: 1000,
  });
  const call = { narration_id, max_credits: 1000, retakes: [{ quote: "So ends Two" }] };
  const retaken = await narrator.narrate(call);
  expect(retaken.message).toContain("Cost 30 credits in all, 10 of them for this call.");
  expect(retaken.files[0]?.sha256).not.toBe(files[0]?.sha256);
  const repeated = await narrator.narrate(call);
  expect(repeated.files).toEqual(retaken.files);
  expect(repeated.message).toContain(
    "(nothing for this call). A retake without take is take 2, which is in the file already; take 3 makes another one.",
  );
  expect(narrator.service.count("create")).toBe(3);
});

it("a speed alone keeps the chosen take", async () => {
  const { narration_id } = await narrator.narrate({ text: buildText("One", "Two"), max_credits: 1000 });
  const limit = { narration_id, max_credits: 1000 };
  await narrator.narrate({ ...limit, retakes: [{ quote: "So ends Two", take: 3 }] });
  await narrator.narrate({ ...limit, retakes: [{ quote: "So ends Two", speed: 1.2 }] });
  expect(narrator.service.count("create")).toBe(4);
  const back = await narrator.narrate({ ...limit, retakes: [{ quote: "So ends Two", take: 3, speed: 1.2 }] });
  expect(back.message).toContain("nothing for this call");
});

const LONG_CHAPTERS = ["One", "Two", "Three"]
  .map((name) => `# Chapter ${name}\n\n${buildText(`${name} a`, `${name} b`)}`)
  .join("\n\n");

it.each([{ chapter: 2 }, { chapter: "2" }, { chapter: "Chapter Two" }, { quote: "chapter 2" }])(
  "%j retakes all parts of the chapter, and its price knows the speed",
  async (which) => {
    const { narration_id } = await narrator.narrate({ text: LONG_CHAPTERS, max_credits: 5000 });
    const before = narrator.service.count("create");
    const priceAt = async (speed: number): Promise<number> => {
      const { credits } = await narrator.narrate({ narration_id, retakes: [{ ...which, speed }] });
      return credits.estimate - credits.charged;
    };
    narrator.service.audioSeconds = 60;
    const [slow, fast] = [await priceAt(0.5), await priceAt(2)];
    expect(slow).toBeGreaterThan(fast);
    const plan = await narrator.narrate({ narration_id, retakes: [{ ...which, speed: 0.8 }] });
    expect(plan.message).toContain("2 parts to be made");
    const retaken = await narrator.narrate({
      narration_id,
      retakes: [{ ...which, speed: 0.8 }],
      max_credits: 5000,
    });
    expect(retaken.status).toBe("finished");
    expect(narrator.service.count("create")).toBe(before + 2);
  },
);

it.each([
  [{ chapter: "9" }, /has no chapter "9"; it has 3/],
  [{ chapter: "2", quote: "Two a" }, /retakes\[0\] must have either a quote or a chapter/],
  [{ take: 2 }, /retakes\[0\] must have either a quote or a chapter/],
])("the retake %j is refused before anything is sent", async (retake, why) => {
  const { narration_id } = await narrator.narrate({ text: LONG_CHAPTERS });
  const refused = await narrator.client.call("narrate", { narration_id, retakes: [retake] });
  expect(resultTextOf(refused)).toMatch(why);
  const only = await narrator.narrate({ narration_id, chapters: "1" });
  const other = { narration_id: only.narration_id, retakes: [{ chapter: "2" }] };
  expect(resultTextOf(await narrator.client.call("narrate", other))).toMatch(/holds only some chapters/);
});

it("chapters of a plan are those of the same text, without the text", async () => {
  const plan = await narrator.narrate({ text: BOOK });
  const chosen = await narrator.narrate({ narration_id: plan.narration_id, chapters: "2-3" });
  const byText = await narrator.narrate({ text: BOOK, chapters: "2-3" });
  expect(chosen).toEqual(byText);
  const limit = { narration_id: plan.narration_id, chapters: "2-3", max_credits: 1000 };
  const done = await narrator.narrate(limit);
  expect(done).toMatchObject({ narration_id: byText.narration_id, status: "finished" });
  expect(await narrator.narrate(limit)).toMatchObject({ files: done.files });
  expect(narrator.service.count("create")).toBe(2);
});

it("a plan counts the short parts that are still to be paid alone", async () => {
  const text = "# A\n\nOne bell.\n\n# B\n\nTwo bells.\n\n# C\n\nThree bells.\n\n# D\n\nFour bells.";
  await narrator.narrate({ text, chapters: "1", max_credits: 150 });
  const plan = await narrator.narrate({ text });
  expect(plan.message).toContain("3 parts are shorter than 8 s and cost 10 credits, the least");
  const fewer = await narrator.narrate({ text, chapters: "1-3" });
  expect(fewer.message).not.toContain("shorter than 8 s");
});

it("a plan states the price of chapters that are not paid yet", async () => {
  const { narration_id } = await narrator.narrate({ text: BOOK, chapters: "2", max_credits: 1000 });
  const plan = await narrator.narrate({ text: BOOK });
  expect(plan.narration_id).not.toBe(narration_id);
  expect(plan.chapters?.map(({ credits }) => credits === 0)).toEqual([false, true, false]);
  expect(plan.message).not.toContain("chapters, from");
  const prices = plan.chapters?.map(({ credits }) => credits) ?? [];
  expect(prices.reduce((sum, credits) => sum + credits, 0)).toBe(plan.credits.estimate);
});

it("a plan of more chapters than its list shows sums them up, and gives a chapter with a heading as the example", async () => {
  const text = Array.from({ length: 31 }, (_, index) => `# Part ${index + 1}\n\nIt is short.`).join("\n\n");
  const many = await narrator.narrate({ text });
  expect(many.message).toMatch(/31 chapters, from "Part 1" to "Part 31", each of \d/);
  const front = await narrator.client.call("narrate", { text: "Before it.\n\n# Notes\n\nIt is short." });
  expect(resultTextOf(front)).toContain('The argument chapters narrates some of them: "1".');
});

it("a plan of some chapters refuses the others, and says how to find them", async () => {
  const { narration_id } = await narrator.narrate({ text: BOOK, chapters: "2" });
  for (const chapters of ["1, 3", "1-3"]) {
    const refused = await narrator.client.call("narrate", { narration_id, chapters });
    expect(resultTextOf(refused)).toMatch(
      /holds only some chapters of its text, and not 1 "Chapter One"[\s\S]*Give the text or file again/,
    );
  }
});

it("a low limit names the least that suffices: the last part at its reservation, the others at their price", async () => {
  const { narration_id, chapters = [] } = await narrator.narrate({ text: BOOK, chapters: "1-2" });
  const [first = 0] = chapters.map((chapter) => chapter.credits);
  const refused = await narrator.narrate({ narration_id, max_credits: 200 });
  const least = first + 150;
  expect(refused.message).toContain(` that needs ${least}.`);
  expect(refused.next_step).toContain(` and max_credits ${least}. If they keep to 200: that call with`);
  expect(refused.credits.suggested_max).toBe(least);
  const done = await narrator.narrate({ narration_id, max_credits: least });
  expect(done.status).toBe("finished");
});

it("a limit too low for what a call changes in a finished narration stores nothing, and names the least", async () => {
  const whole = await narrator.narrate({ text: buildText("One", "Two", "Three"), max_credits: 900 });
  const { narration_id, files } = whole;
  const retakes = [{ quote: "So ends One" }, { quote: "So ends Two" }];
  const call = { narration_id, retakes, replace: true };
  const plan = await narrator.narrate(call);
  const least = (plan.credits.estimate + 30) / 2 + 150;
  for (const max_credits of [30, 100, 180, 180]) {
    const refused = await narrator.narrate({ ...call, max_credits, file_name: "other" });
    expect(refused).toMatchObject({ status: "planned", credits: { charged: 30, suggested_max: least } });
    expect(refused.message).toContain(`max_credits ${max_credits} `);
    expect(refused.message).toContain("Nothing was sent or charged");
    expect(refused.next_step).toMatch(/ max_credits \d+, with the same retakes and replace true\.$/);
  }
  expect(await narrator.narrate({ narration_id })).toMatchObject({ status: "finished", files });
  expect(narrator.service.count("create")).toBe(3);
  const done = await narrator.narrate({ ...call, max_credits: least });
  expect(done).toMatchObject({ status: "finished", credits: { charged: 50 } });
  const back = await narrator.narrate({
    ...call,
    retakes: [{ quote: "So ends Two", take: 1 }],
    max_credits: 1,
  });
  expect(back).toMatchObject({ status: "finished", credits: { charged: 50 } });
});

it("a failed part of a finished narration is not tried again within a limit that has no room for it", async () => {
  narrator.failPart("Two");
  const call = { text: buildText("One", "Two"), max_credits: 900 };
  const { narration_id } = await narrator.narrate({ ...call, skip_failed: true });
  const refused = await narrator.narrate({ narration_id, skip_failed: false, max_credits: 100 });
  expect(refused).toMatchObject({ status: "planned", credits: { charged: 10 } });
  expect(refused.next_step).toMatch(/ max_credits 160, with skip_failed false\.$/);
  expect(await narrator.narrate({ narration_id })).toMatchObject({ status: "finished" });
  const retakes = [{ quote: "So ends One" }];
  expect(await narrator.narrate({ narration_id, retakes, max_credits: 160 })).toMatchObject({
    status: "finished",
    credits: { charged: 20 },
  });
});

it("an edit has a bill of its own: its plan and its answer say so, and that older parts are paid for", async () => {
  const { narration_id } = await narrator.narrate({ text: buildText("One", "Two"), max_credits: 900 });
  const call = { narration_id, edits: [{ quote: "So ends Two", replacement: "So closes Two" }] };
  const plan = await narrator.narrate(call);
  expect(plan.message).toMatch(
    /^A plan: about \d+ s of audio\. 1 of 2 parts is new: about 35 credits; the other is paid for already\. max_credits counts this narration alone\./,
  );
  const done = await narrator.narrate({ ...call, max_credits: 150 });
  expect(done.message).toContain("Cost 10 credits; 1 of its parts was paid for before.");
  expect(plan.message).toContain("An edit makes its whole part again.");
  expect(done.seconds.saved).toBe(Math.round(done.files[0]?.duration_seconds ?? 0));
  const again = await narrator.narrate({ ...call, max_credits: 150 });
  expect(again.message).toContain(
    "Cost 10 credits (nothing for this call); 1 of its parts was paid for before.",
  );
});

it("a missing chapter is refused by the narration's id as by its text", async () => {
  const { narration_id } = await narrator.narrate({ text: BOOK });
  const refused = await narrator.client.call("narrate", { narration_id, chapters: "9" });
  expect(resultTextOf(refused)).toContain('The text has no chapter "9"');
  const other = await narrator.client.call("narrate", { narration_id, speed: 1.2 });
  expect(resultTextOf(other)).toContain("speed needs the text or file again in place of narration_id");
});

it("a limit below one reservation pays for no part, and is not offered", async () => {
  const refused = await narrator.narrate({ text: buildText("One", "Two", "Three"), max_credits: 20 });
  expect(refused.message).toContain("max_credits 20 pays for no part, because about");
  expect(refused.next_step).toMatch(/^Tell the user\. For all of it: .* and max_credits \d+\.$/);
});

it("a limit that a plan has named starts the narration, although later audio has made estimates longer", async () => {
  const plan = await narrator.narrate({ text: buildText("One", "Two", "Three", "Four") });
  const { narration_id, credits } = plan;
  narrator.service.audioSeconds = 120;
  await narrator.narrate({ text: buildText("Five"), max_credits: 1000 });
  expect((await narrator.narrate({ narration_id })).credits.suggested_max).toBeGreaterThanOrEqual(
    credits.suggested_max,
  );
  const begun = await narrator.narrate({ narration_id, max_credits: credits.suggested_max, wait_seconds: 0 });
  expect(begun.status).not.toBe("planned");
});

it("the list finds a narration by the name of its input file", async () => {
  const texts = join(narrator.testFolders.root, "texts");
  await mkdir(texts);
  await writeFile(join(texts, "harbour-draft.txt"), paragraph("One"));
  await narrator.restart({ AUDIO_INPUT_DIR: texts });
  const call = { file: "harbour-draft.txt", output_format: "pcm" };
  const { narration_id } = narrationOf(await narrator.client.call("narrate", call));
  const list = await narrator.client.call("list_tasks", { query: "harbour-draft.txt" });
  expect(resultTextOf(list)).toContain(narration_id);
});

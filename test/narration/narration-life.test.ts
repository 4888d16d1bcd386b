/**
 * The whole life of a narration through the built bin: planned, paid once, edited, retaken, stopped, resumed, joined.
 */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf } from "../support/tool-result.ts";
import { buildText, openNarratorEach, PART_BYTES, paragraph } from "./narrator.ts";

const narrator = openNarratorEach();

const PAUSE_BYTES = 0.6 * 24_000 * 2;

it("a plan states parts, length and price, and sends nothing", async () => {
  const plan = await narrator.narrate({ text: buildText("One", "Two", "Three") });
  expect(plan).toMatchObject({
    status: "planned",
    parts: { total: 3, saved: 0, running: 0, failed: 0, already_paid: 0 },
    files: [],
    problems: [],
  });
  expect(plan.credits.estimate).toBeGreaterThan(100);
  // Two parts at their price and a margin, and the last one at its reservation.
  expect(plan.credits.suggested_max).toBe(Math.ceil((1.2 * plan.credits.estimate) / 3) + 2 * 150);
  expect(plan.next_step).toContain(`max_credits ${plan.credits.suggested_max}`);
  expect(narrator.service.exchanges).toEqual([]);
});

describe("a narration", () => {
  it("is its parts and pauses in one file, paid once, and its repeat sends nothing", async () => {
    const text = buildText("One", "Two", "Three");
    const done = await narrator.narrate({ text, max_credits: 1000 });
    expect(done).toMatchObject({
      status: "finished",
      parts: { total: 3, saved: 3 },
      credits: { charged: 30 },
    });
    const [file] = done.files;
    const bytes = await readFile(file?.path ?? "");
    expect(bytes.length).toBe(3 * PART_BYTES + 2 * PAUSE_BYTES);
    expect(file?.duration_seconds).toBeCloseTo(3 * 4 + 2 * 0.6, 3);
    expect(narrator.service.count("create")).toBe(3);
    const exchangeCountBefore = narrator.service.exchanges.length;
    await narrator.restart();
    const again = await narrator.narrate({ text, max_credits: 1000 });
    expect(again).toMatchObject({ status: "finished", credits: { charged: 30 } });
    expect(again.files).toEqual(done.files);
    expect(narrator.service.exchanges.length).toBe(exchangeCountBefore);
  });

  it("spends no more than its limit, says so, and continues with a higher one", async () => {
    const text = buildText("One", "Two", "Three", "Four");
    const { narration_id } = await narrator.planWithin(165, { text });
    const stopped = await narrator.narrate({ narration_id, max_credits: 165 });
    expect(stopped).toMatchObject({
      status: "stopped",
      parts: { saved: 2 },
      credits: { charged: 20, max: 165 },
    });
    expect(stopped.problems).toMatchObject([{ code: "max_credits_reached" }]);
    expect(narrator.service.count("create")).toBe(2);
    const done = await narrator.narrate({ narration_id: stopped.narration_id, max_credits: 1000 });
    expect(done).toMatchObject({ status: "finished", credits: { charged: 40 } });
    expect(narrator.service.count("create")).toBe(4);
  });

  it("called for another take without a limit states its price, and changes nothing", async () => {
    const text = buildText("One", "Two", "Three");
    const done = await narrator.narrate({ text, max_credits: 1000 });
    const retakes = [{ quote: "So ends Two", take: 2 }];
    const plannedNarration = await narrator.narrate({ text, retakes });
    expect(plannedNarration).toMatchObject({
      status: "planned",
      parts: { total: 3, saved: 2 },
      credits: { charged: 30 },
    });
    expect(plannedNarration.message).toMatch(
      /1 part to be made for about \d+ credits, beside the 30 charged for it so far/,
    );
    const again = await narrator.narrate({ text, max_credits: 1000 });
    expect(again).toMatchObject({ status: "finished", credits: { charged: 30 }, files: done.files });
    expect(again.message).toContain("Cost 30 credits in all (nothing for this call).");
    expect(narrator.service.count("create")).toBe(3);
  });

  it("gives captions a name that differs from audio of another format", async () => {
    const text = buildText("One");
    await narrator.narrate({ text, max_credits: 1000, file_name: "same" });
    const wav = await narrator.narrate({ text: buildText("Two"), max_credits: 1000, file_name: "same" });
    expect(wav.files[0]?.captions_path?.endsWith("same-2.vtt")).toBe(true);
  });

  it("continues without a part that always fails only if that is requested", async () => {
    // Every task, even one of a later attempt, runs until its first query.
    narrator.service.processingMs = 60_000;
    narrator.service.intercept = ({ kind, taskId }, _response, self) => {
      const task = self.tasks.get(taskId ?? "");
      if (kind !== "query" || task === undefined) return false;
      task.status = task.body.includes("Two begins") ? "failed" : "succeeded";
      return false;
    };
    const text = buildText("One", "Two", "Three");
    const stopped = await narrator.narrate({ text, max_credits: 1000 });
    expect(stopped).toMatchObject({
      status: "stopped",
      parts: { saved: 2, failed: 1 },
      credits: { charged: 20 },
    });
    expect(stopped.problems).toMatchObject([{ part: 2, code: "task_failed" }]);
    expect(stopped.problems[0]?.excerpt).toContain("Two begins here");
    // The part that failed had three attempts, and each other part had one.
    expect(narrator.service.count("create")).toBe(5);
    const joined = await narrator.narrate({
      narration_id: stopped.narration_id,
      max_credits: 1000,
      skip_failed: true,
    });
    expect(joined).toMatchObject({ status: "finished", credits: { charged: 20 } });
    expect(narrator.service.count("create")).toBe(5);
    expect((await readFile(joined.files[0]?.path ?? "")).length).toBe(2 * PART_BYTES + PAUSE_BYTES);
  });

  it("is one file per chapter if that is requested", async () => {
    const text = `# Down\n\n${paragraph("One")}\n\n# Up\n\n${paragraph("Two")}`;
    const done = await narrator.narrate({ text, files: "chapters", file_name: "book", max_credits: 1000 });
    expect(done.status).toBe("finished");
    expect(done.files.map(({ chapter }) => chapter)).toEqual(["Down", "Up"]);
    expect(await narrator.testFolders.outputNames()).toEqual([
      ".parts",
      "book-01-Down.pcm",
      "book-01-Down.vtt",
      "book-02-Up.pcm",
      "book-02-Up.vtt",
    ]);
  });

  it("shares its parts with generate_audio, which copies the requested ones", async () => {
    const text = buildText("One");
    await narrator.narrate({ text, max_credits: 1000 });
    const outcome = await narrator.client.call("generate_audio", { prompt: text, output_format: "pcm" });
    const { audio } = outcome.structuredContent as { audio: { path: string } };
    expect(narrator.service.count("create")).toBe(1);
    expect(audio.path).not.toContain(".parts");
    expect((await readFile(audio.path)).length).toBe(PART_BYTES);
  });

  it("of another service is unknown here, and nothing is sent", async () => {
    const text = buildText("One");
    const { narration_id } = await narrator.narrate({ text, max_credits: 1000 });
    const elsewhere = await FakeService.start();
    const client = await startToolClient(narrator.testFolders.env(elsewhere, FAST));
    try {
      const refused = await client.call("narrate", { narration_id, max_credits: 1000 });
      expect(errorOf(refused)).toMatchObject({ code: "not_found" });
      await expect(client.readText(`audio://narrations/${narration_id}`)).rejects.toThrow(/not|no /i);
      expect(elsewhere.exchanges).toEqual([]);
    } finally {
      await client.close();
      await elsewhere.stop();
    }
    // With the first service, the same text is still the same narration.
    expect((await narrator.narrate({ text })).narration_id).toBe(narration_id);
  });
});

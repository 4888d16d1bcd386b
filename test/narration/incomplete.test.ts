/** A narration that ended early leaves a file of what is paid for, and a result that says what is missing. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { buildText, openNarratorEach, PART_BYTES, paragraph } from "./narrator.ts";

const narrator = openNarratorEach();

const FOUR = buildText("One", "Two", "Three", "Four");
const PAUSE_BYTES = 0.6 * 24_000 * 2;
/** A busy machine needs seconds to start a process. */
const LONG = { timeout: 20_000, interval: 10 };

/** Returns the names of the audio files and of their captions. */
const outputs = async (): Promise<string[]> =>
  (await narrator.testFolders.outputNames()).filter((name) => name !== ".parts");

it("a first call whose limit is too low sends nothing, is answered with the plan, and starts with the same limit and narration_id", async () => {
  const first = await narrator.narrate({ text: FOUR, max_credits: 165, file_name: "tale" });
  expect(first).toMatchObject({ status: "planned", parts: { saved: 0 } });
  expect(first.message).toContain("max_credits 165 is likely to end it early");
  expect(first.next_step).toContain("that call with max_credits 165 makes what it pays for, and joins it");
  expect(narrator.service.exchanges).toEqual([]);
  const { narration_id } = first;
  const ended = await narrator.narrate({ narration_id, max_credits: 165 });
  expect(ended).toMatchObject({ status: "stopped", problems: [{ code: "max_credits_reached" }] });
  // Only the first call named the file.
  expect(await outputs()).toEqual(["tale (incomplete).pcm", "tale (incomplete).vtt"]);
});

it("a limit as high as the suggested one is not called too low, even if parts are equal", async () => {
  const plan = await narrator.narrate({ text: buildText("Same", "Same") });
  expect(plan.parts.total).toBe(2);
  const { narration_id } = plan;
  const max_credits = plan.credits.suggested_max;
  const running = await narrator.narrate({ narration_id, max_credits, wait_seconds: 0 });
  expect(running.message).toContain("Running: ");
  expect(running.message).not.toContain("likely to stop early");
});

describe("what is paid for is joined as NAME (incomplete)", () => {
  it.each([
    ["its limit", 165, () => undefined, /without parts 3 to 4 of 4/],
    [
      "a 402",
      1000,
      () => narrator.refuseSubmissionsFrom(3, 402, "insufficient_credits"),
      /without parts 3 to 4 of 4/,
    ],
    ["a part that fails", 1000, () => narrator.failPart("Two"), /without part 2 of 4/],
  ])(
    "if %s ended it, and is removed with its captions when the whole is complete",
    async (_what, limit, arrange, lacks) => {
      arrange();
      const { narration_id } = await narrator.planWithin(limit, { text: FOUR, file_name: "tale" });
      const ended = await narrator.narrate({ narration_id, max_credits: limit });
      expect(ended.status).toBe("stopped");
      expect(ended.message).toMatch(/file 1 \(incomplete until the whole file replaces it\) without/);
      expect(ended.message).toMatch(lacks);
      const saved = ended.parts.saved;
      const bytes = await readFile(ended.files[0]?.path ?? "");
      expect(bytes.length).toBe(saved * PART_BYTES + (saved - 1) * PAUSE_BYTES);
      narrator.service.intercept = undefined;
      const done = await narrator.narrate({ narration_id, max_credits: 2000 });
      expect(done).toMatchObject({ status: "finished", parts: { saved: 4 } });
      expect(await outputs()).toEqual(["tale.pcm", "tale.vtt"]);
    },
  );

  it("if the budget ended it", async () => {
    await narrator.restart({ AUDIO_CREDIT_BUDGET: "170" });
    const ended = await narrator.narrate({ text: FOUR, max_credits: 5000, file_name: "tale" });
    expect(ended).toMatchObject({ status: "stopped", problems: [{ code: "budget_exceeded" }] });
    expect(await outputs()).toEqual(["tale (incomplete).pcm", "tale (incomplete).vtt"]);
  });

  it("after a stop, which says what will still be charged", async () => {
    // Two tasks run until the call with `stop` is answered.
    narrator.service.processingMs = 60_000;
    const startedNarration = await narrator.narrate({
      text: FOUR,
      max_credits: 5000,
      wait_seconds: 0,
      file_name: "tale",
    });
    const { narration_id } = startedNarration;
    await expect
      .poll(async () => (await narrator.narrate({ narration_id, wait_seconds: 0 })).parts.running, LONG)
      .toBe(2);
    const reported = await narrator.narrate({ narration_id, stop: true });
    expect(reported.status).toBe("stopped");
    narrator.service.processingMs = 0;
    for (const task of narrator.service.tasks.values()) task.status = "succeeded";
    expect(reported.message).toMatch(
      /2 parts that are already with the service will still be charged, about \d+ credits/,
    );
    await expect.poll(outputs, LONG).toContain("tale (incomplete).pcm");
    await expect
      .poll(async () => (await narrator.narrate({ narration_id })).message, LONG)
      .toMatch(/2 of 4 parts saved.*file 1 \(incomplete until .*\) without parts 3 to 4 of 4/);
    expect((await narrator.narrate({ narration_id })).message).not.toContain("will still be charged");
  });
});

it("an incomplete file keeps its name when it gets more parts, and chapters without a file are named", async () => {
  const { narration_id } = await narrator.planWithin(155, { text: FOUR, file_name: "tale" });
  for (const limit of [155, 170]) {
    expect((await narrator.narrate({ narration_id, max_credits: limit })).status).toBe("stopped");
    expect(await outputs()).toEqual(["tale (incomplete).pcm", "tale (incomplete).vtt"]);
  }
  const text = `# Down\n\n${paragraph("Five")}\n\n# Up\n\n${paragraph("Six")}`;
  const book = await narrator.planWithin(155, { text, files: "chapters" });
  const ended = await narrator.narrate({ narration_id: book.narration_id, max_credits: 155 });
  expect(ended).toMatchObject({ status: "stopped", files: [{ chapter: "Down" }] });
  expect(ended.message).toContain("Not in any file: part 2 of 2.");
});

it("a chapter's file is saved as soon as its parts are, while the others are made", async () => {
  const processingMsOf = (prompt: string): number => (prompt.includes("Two begins") ? 60_000 : 20);
  await narrator.reopen({}, { processingMsOf });
  const text = `# Down\n\n${paragraph("One")}\n\n# Up\n\n${paragraph("Two")}`;
  const args = { text, files: "chapters", file_name: "book", max_credits: 5000, wait_seconds: 0 };
  const { narration_id } = await narrator.narrate(args);
  await expect
    .poll(async () => (await narrator.narrate({ narration_id, wait_seconds: 0 })).files.length, LONG)
    .toBe(1);
  const running = await narrator.narrate({ narration_id, wait_seconds: 0 });
  expect(running).toMatchObject({ status: "running", files: [{ chapter: "Down" }] });
  expect(running.files[0]?.path).toContain("book-01-Down.pcm");
  for (const task of narrator.service.tasks.values()) task.status = "succeeded";
  await expect.poll(async () => (await narrator.narrate({ narration_id })).status, LONG).toBe("finished");
  expect(await outputs()).toEqual([
    "book-01-Down.pcm",
    "book-01-Down.vtt",
    "book-02-Up.pcm",
    "book-02-Up.vtt",
  ]);
});

it("a finished narration without a part that failed names the part that its file lacks in every result", async () => {
  narrator.service.intercept = ({ kind, taskId }, _response, self) => {
    const task = self.tasks.get(taskId ?? "");
    if (kind === "query" && task?.body.includes("Two begins") === true) task.status = "failed";
    return false;
  };
  const done = await narrator.narrate({ text: FOUR, max_credits: 1000, skip_failed: true });
  const { narration_id } = done;
  const again = await narrator.narrate({ narration_id });
  const repeated = await narrator.narrate({ text: FOUR, max_credits: 1000 });
  for (const reported of [done, again, repeated]) {
    expect(reported).toMatchObject({ status: "finished", problems: [{ part: 2 }] });
    expect(reported.message).toContain("without part 2 of 4");
    expect(reported.problems[0]?.excerpt).toContain("Two begins");
  }
  const [, limit = ""] =
    /With skip_failed false, max_credits (\d+) tries it again/.exec(again.next_step) ?? [];
  narrator.service.intercept = undefined;
  const whole = await narrator.narrate({ narration_id, max_credits: Number(limit), skip_failed: false });
  expect(whole).toMatchObject({ status: "finished", parts: { saved: 4, failed: 0 }, problems: [] });
});

it("what a narration cost that finished in the background states its total cost, and that of this call, in the first result", async () => {
  narrator.service.processingMs = 100;
  const { narration_id } = await narrator.narrate({ text: FOUR, max_credits: 1000, wait_seconds: 0 });
  const list = async (): Promise<string> =>
    JSON.stringify((await narrator.client.call("list_tasks", {})).structuredContent);
  await expect.poll(list, LONG).toContain('"status":"finished"');
  const reported = await narrator.narrate({ narration_id });
  expect(reported.message).toContain("Cost 40 credits in all (nothing for this call).");
});

it("a choice of skip_failed that is made while a part runs applies when that part fails", async () => {
  await narrator.reopen({ AUDIO_WAIT_SECONDS: "1" }, { processingMs: 600_000 });
  let hasTwoFailed = false;
  narrator.service.intercept = ({ kind, taskId }, response, self) => {
    const task = self.tasks.get(taskId ?? "");
    if (kind !== "query" || task === undefined) return false;
    task.status = "succeeded";
    if (!task.body.includes("Two begins")) return false;
    task.status = hasTwoFailed ? "failed" : "processing";
    // A failed task that was charged gets no further attempt.
    const billing = { reserved_credits: 150, charged_credits: 10, refunded_credits: 140 };
    self.json(response, 200, { ...self.view(task), ...(hasTwoFailed ? { billing } : {}) });
    return true;
  };
  const call = { text: buildText("One", "Two"), max_credits: 1000 };
  const { narration_id, status: running } = await narrator.narrate(call);
  expect(running).toBe("running");
  await narrator.narrate({ narration_id, max_credits: 1000, skip_failed: true });
  hasTwoFailed = true;
  await expect.poll(async () => (await narrator.narrate({ narration_id })).status, LONG).not.toBe("running");
  expect(await narrator.narrate({ narration_id })).toMatchObject({
    status: "finished",
    problems: [{ part: 2 }],
  });
});

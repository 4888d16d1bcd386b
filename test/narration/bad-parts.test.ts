/**
 * Parts whose audio is unavailable or cannot be joined: each is named by its number, another take replaces it, and
 * skip_failed joins the rest.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { encode } from "../../src/sandbox/speech/encode/encode.ts";
import { wav } from "../audio/make-wav.ts";
import type { Interceptor } from "../support/fake-service.ts";
import { buildText, type NarrationOutput, openNarratorEach, PART_BYTES } from "./narrator.ts";

const narrator = openNarratorEach();

const PAUSE_BYTES = 0.6 * 24_000 * 2;
const THREE = buildText("One", "Two", "Three");

/** Makes the service deliver the bytes that `bytesOf` returns for a part. `null` leaves its real audio. */
const deliver =
  (bytesOf: (body: string, times: number) => Buffer | null): Interceptor =>
  ({ kind, taskId }, response, self) => {
    const task = self.tasks.get(taskId ?? "");
    if (kind !== "content" || task === undefined) return false;
    const times = self.exchanges.filter(
      (other) => other.kind === "content" && other.taskId === taskId,
    ).length;
    const bytes = bytesOf(task.body, times);
    if (bytes === null) return false;
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": bytes.length });
    response.end(bytes);
    return true;
  };

/** Expects that only part 2 is reported, with both remedies: another take, and `skip_failed`. */
function expectOnlyPartTwo(reported: NarrationOutput): void {
  expect(reported).toMatchObject({ status: "stopped", parts: { total: 3, saved: 2, running: 0, failed: 1 } });
  expect(reported.problems).toMatchObject([{ part: 2 }]);
  expect(reported.problems[0]?.excerpt).toContain("Two begins");
  expect(reported.message).toMatch(/\(incomplete.*without part 2 of 3/);
  expect(reported.next_step).toContain("retakes with a quote of it");
  expect(reported.next_step).toContain("skip_failed true");
}

it("a part that is missing here and at the service is reported as that part's problem; the rest can be joined, or another take of it made", async () => {
  const done = await narrator.narrate({ text: THREE, max_credits: 1000 });
  const { narration_id } = done;
  const [file] = done.files;
  await rm(file?.path ?? "");
  const parts = join(narrator.testFolders.outputDir, ".parts");
  const two = (await readdir(parts)).find((name) => name.startsWith("Two"));
  await rm(join(parts, two ?? ""));
  for (const [id, task] of narrator.service.tasks) {
    if (task.body.includes("Two begins")) narrator.service.tasks.delete(id);
  }
  expectOnlyPartTwo(await narrator.narrate({ narration_id, max_credits: 1000 }));
  const joined = await narrator.narrate({ narration_id, max_credits: 1000, skip_failed: true });
  expect(joined).toMatchObject({ status: "finished", credits: { charged: 30 }, problems: [{ part: 2 }] });
  expect((await readFile(joined.files[0]?.path ?? "")).length).toBe(2 * PART_BYTES + PAUSE_BYTES);
  expect(narrator.service.count("create")).toBe(3);
  const retakes = [{ quote: "So ends Two", take: 2 }];
  const whole = await narrator.narrate({ narration_id, max_credits: 1000, retakes });
  expect(whole).toMatchObject({
    status: "finished",
    parts: { saved: 3 },
    credits: { charged: 40 },
    problems: [],
  });
});

it.each(OUTPUT_FORMATS)(
  "a part that the service delivers only half is told, and downloaded again free of charge by the next call: %s",
  async (format) => {
    const tone = Float32Array.from({ length: 4 * 24_000 }, (_, at) => Math.sin(at / 9) / 2);
    const whole = Buffer.from((await encode(tone, format, 24_000)).bytes);
    const half = whole.subarray(0, whole.length / 2);
    narrator.service.intercept = deliver((body) => (body.includes("Two begins") ? half : whole));
    const call = { text: THREE, output_format: format, max_credits: 1000 };
    const told = await narrator.narrate(call);
    expect(told.message).toMatch(/Part 2 .* plays [12]\.\d s, where the service said 4\.0 s.* again, free/);
    expect(told.files[0]?.duration_seconds).toBeLessThan(11.5);
    narrator.service.intercept = deliver(() => whole);
    const mended = await narrator.narrate({ narration_id: told.narration_id, max_credits: 1000 });
    expect(mended).toMatchObject({ status: "finished", credits: { charged: 30 }, problems: [] });
    expect(mended.message).not.toContain("where the service said");
    expect(Math.round(mended.files[0]?.duration_seconds ?? 0)).toBe(13);
    expect(narrator.service.count("create")).toBe(3);
  },
);

describe("a part that the service delivers damaged", () => {
  /** Too large for mono and for stereo sound. */
  const BAD = Buffer.alloc(PART_BYTES * 4, 1);

  it("is fetched again once, free of charge, before it is reported", async () => {
    narrator.service.intercept = deliver((body, times) =>
      body.includes("Two begins") && times === 1 ? BAD : null,
    );
    const done = await narrator.narrate({ text: THREE, max_credits: 1000 });
    expect(done).toMatchObject({ status: "finished", credits: { charged: 30 }, problems: [] });
    expect((await readFile(done.files[0]?.path ?? "")).length).toBe(3 * PART_BYTES + 2 * PAUSE_BYTES);
    expect(narrator.service.count("create")).toBe(3);
  });

  it("is fetched a third time if a page comes instead of the audio the second time", async () => {
    const sound = wav(Buffer.alloc(PART_BYTES, 1), { sampleRateHz: 24_000 });
    const page = Buffer.from("no audio ".repeat(2000));
    narrator.service.intercept = deliver((body, times) => {
      if (!body.includes("Two begins") || times > 2) return sound;
      return times === 1 ? sound.subarray(0, 30) : page;
    });
    const done = await narrator.narrate({ text: THREE, output_format: "wav", max_credits: 1000 });
    expect(done).toMatchObject({ status: "finished", credits: { charged: 30 }, problems: [] });
    expect(narrator.service.count("create")).toBe(3);
  });

  it("again and again is reported as that part's problem, and skip_failed joins the rest", async () => {
    narrator.service.intercept = deliver((body) => (body.includes("Two begins") ? BAD : null));
    const reported = await narrator.narrate({ text: THREE, max_credits: 1000 });
    expectOnlyPartTwo(reported);
    expect(reported.problems[0]?.message).toContain("damaged");
    const { narration_id } = reported;
    const joined = await narrator.narrate({ narration_id, max_credits: 1000, skip_failed: true });
    expect(joined).toMatchObject({ status: "finished", problems: [{ part: 2 }] });
    expect(narrator.service.count("create")).toBe(3);
  });
});

describe("parts of other rates", () => {
  const sound = Buffer.alloc(4 * 8000 * 2, 1);
  const wavOf = (rates: Readonly<Record<string, number>>): Interceptor =>
    deliver((body) => {
      const rate = Object.entries(rates).find(([name]) => body.includes(`${name} begins`))?.[1];
      return rate === undefined ? null : wav(sound, { sampleRateHz: rate });
    });

  it("are reported for the single part that differs, and skip_failed joins the rest", async () => {
    narrator.service.intercept = wavOf({ One: 8000, Two: 16_000, Three: 8000 });
    const reported = await narrator.narrate({ text: THREE, output_format: "wav", max_credits: 1000 });
    expectOnlyPartTwo(reported);
    expect(reported.problems[0]?.message).toContain("sample rate 16000, and part 1 has 8000");
    const { narration_id } = reported;
    const joined = await narrator.narrate({ narration_id, max_credits: 1000, skip_failed: true });
    expect(joined).toMatchObject({ status: "finished", problems: [{ part: 2, code: "parts_differ" }] });
  });

  it("that all differ are reported without a common rate", async () => {
    narrator.service.intercept = wavOf({ One: 8000, Two: 16_000, Three: 24_000 });
    const reported = await narrator.narrate({ text: THREE, output_format: "wav", max_credits: 1000 });
    expect(reported.problems).toMatchObject([{ part: 2 }, { part: 3 }]);
    expect(reported.message).not.toContain("most parts");
  });
});

it("a part whose bytes are not of its format does not run in a narration that ended, and is reported as failed", async () => {
  narrator.service.intercept = deliver((body) =>
    body.includes("Two begins")
      ? Buffer.from("no audio ".repeat(2000))
      : wav(Buffer.alloc(PART_BYTES, 1), { sampleRateHz: 24_000 }),
  );
  const reported = await narrator.narrate({ text: THREE, output_format: "wav", max_credits: 1000 });
  expectOnlyPartTwo(reported);
  const { narration_id } = reported;
  const joined = await narrator.narrate({ narration_id, max_credits: 1000, skip_failed: true });
  expect(joined).toMatchObject({ status: "finished", parts: { saved: 2, running: 0, failed: 1 } });
  expect(narrator.service.count("create")).toBe(3);
});

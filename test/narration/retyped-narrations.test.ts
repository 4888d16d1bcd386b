/** A narration whose parts are spoken already, or are about to be, by nearly the same texts says so before it pays again. */
import { afterEach, expect, it } from "vitest";
import type { FakeServiceOptions } from "../support/fake-service.ts";
import { buildText, Narrator } from "./narrator.ts";

const KEYS = ["sk-first-0123456789abcdef", "sk-second-0123456789abcdef"] as const;
/** A busy machine needs seconds to start a process. */
const LONG = { timeout: 20_000, interval: 20 };
const LIMIT = { max_credits: 5000 };
const RETYPED = /^Asked first: .*paid for already or being made.* only in quotation marks/;

const quote = (...names: readonly string[]): string => buildText(...names.map((name) => `"${name}"`));
const retype = (text: string): string => text.replaceAll(/"(\w+)"/g, "“$1”");
const TEXT = quote("One");
const CHAPTERS = ["One", "Two", "Three", "Four"]
  .map((name) => `# Chapter ${name}\n\n${quote(name)}`)
  .join("\n\n");

let narrator: Narrator;
afterEach(() => narrator.stop());

/** Lets all tasks end, and those to come. */
function release(): void {
  narrator.service.processingMs = 0;
  for (const task of narrator.service.tasks.values()) task.status = "succeeded";
}

/** Starts the chapters and waits until two of them are with the service. */
async function startChapters(): Promise<string> {
  narrator.service.processingMs = 60_000;
  const { narration_id } = await narrator.narrate({ text: CHAPTERS, ...LIMIT, wait_seconds: 0 });
  await expect.poll(() => narrator.service.tasks.size, LONG).toBe(2);
  return narration_id;
}

const retakes = (choice: object): object => ({ retakes: [{ quote: "So ends", ...choice }] });

/** Each row makes audio and returns a later call that would pay for it again. */
const CASES: ReadonlyArray<{
  readonly when: string;
  readonly options?: FakeServiceOptions;
  readonly prepare: () => Promise<Readonly<Record<string, unknown>>>;
  /** What the call is told. */
  readonly told?: RegExp;
}> = [
  ...[{ take: 2 }, { speed: 1.2 }, { take: 3, speed: 0.9 }].map((choice) => ({
    when: `a part that was made with ${JSON.stringify(choice)} is retyped with the same choice`,
    prepare: async () => {
      await narrator.narrate({ text: TEXT, ...retakes(choice), ...LIMIT });
      return { text: retype(TEXT), ...retakes(choice) };
    },
  })),
  {
    when: "the pronunciations of a part in its second take have changed",
    prepare: async () => {
      await narrator.narrate({ text: TEXT, ...retakes({ take: 2 }), ...LIMIT });
      return { text: TEXT, pronounce: ["mill=mil"], ...retakes({ take: 2 }) };
    },
    told: /^Asked first: 1 part that is paid for was spoken with other pronunciations, and would be made again\./,
  },
  {
    when: "another API key of the account had made it",
    options: { apiKeys: KEYS },
    prepare: async () => {
      await narrator.narrate({ text: TEXT, ...LIMIT });
      await narrator.restart({ AUDIO_API_KEY: KEYS[1] });
      return { text: retype(TEXT) };
    },
  },
  {
    when: "chapters are retyped that a running narration has not begun",
    prepare: async () => {
      await startChapters();
      return { text: retype(CHAPTERS), chapters: "3-4" };
    },
  },
  {
    when: "generate_audio has made a part of a stopped narration",
    prepare: async () => {
      const narration_id = await startChapters();
      await narrator.narrate({ narration_id, stop: true });
      release();
      const prompt = retype(CHAPTERS.split("# ").at(-1) ?? "");
      await narrator.client.call("generate_audio", { prompt, output_format: "pcm", wait_seconds: 20 });
      return { narration_id };
    },
  },
];

it.each(CASES)("if $when, the plan says so first, and the next call pays", async (row) => {
  const { options, prepare, told = RETYPED } = row;
  narrator = await Narrator.start({}, options);
  const call = await prepare();
  const made = narrator.service.tasks.size;
  const plan = await narrator.narrate({ ...call, ...LIMIT, wait_seconds: 2 });
  expect(plan).toMatchObject({ status: "planned", message: expect.stringMatching(told) });
  expect(narrator.service.tasks.size).toBe(made);
  release();
  const { narration_id } = plan;
  const again = { narration_id, retakes: call["retakes"], ...LIMIT, wait_seconds: 25 };
  expect(await narrator.narrate(again)).toMatchObject({ status: "finished" });
  expect(narrator.service.tasks.size).toBeGreaterThan(made);
});

it.each([
  ["what was agreed to when it was started", quote("One", "Two"), 4],
  ["parts of its own that differ only in typing", `${TEXT}\n\n${retype(TEXT)}`, 2],
])("a narration that goes on is not asked about %s", async (_, text, refusedFrom) => {
  narrator = await Narrator.start();
  if (refusedFrom === 4) await narrator.narrate({ text: retype(text), ...LIMIT });
  const { narration_id } = await narrator.narrate({ text });
  narrator.refuseSubmissionsFrom(refusedFrom, 402, "insufficient_credits");
  expect(await narrator.narrate({ narration_id, ...LIMIT })).toMatchObject({ parts: { saved: 1 } });
  narrator.service.intercept = undefined;
  expect(await narrator.narrate({ narration_id, ...LIMIT })).toMatchObject({ status: "finished" });
});

it("a stop with a text that was never begun says so, and which narrations run", async () => {
  narrator = await Narrator.start();
  const other = { text: buildText("Nine"), stop: true };
  const nothing = await narrator.narrate(other);
  expect(nothing.message).toMatch(/^Nothing was stopped: this narration has not begun\. None is running\./);
  const running = await startChapters();
  const stopped = await narrator.narrate(other);
  expect(stopped).toMatchObject({ status: "planned", narration_id: nothing.narration_id });
  expect(stopped.next_step).toMatch(
    /^Tell the user\. A running narration is stopped by its own narration_id/,
  );
  expect(stopped.message).toMatch(new RegExp(`has not begun\\. Running: ${running}\\.`));
  const call = { narration_id: running, wait_seconds: 0 };
  expect(await narrator.narrate(call)).toMatchObject({ status: "running" });
  release();
});

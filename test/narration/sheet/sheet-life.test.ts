/**
 * The whole life of a sheet through the built bin: each row is spoken with its own settings, saved as its own file,
 * and paid once.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type NarrationOutput, openNarratorEach, PART_BYTES } from "../narrator.ts";

const narrator = openNarratorEach();
let folder: string;
beforeEach(async () => {
  folder = await narrator.openTexts();
});

const HEADER = "text,file,voice,speed,pitch,volume";
const ROWS = [
  "Halt! Who goes there?,guard_01,opal_en_zh,0.9,-2,",
  "A friend with bread.,cook_01,felix_zh,,,1.5",
  "Then pass and be quick.,,,,,",
  "Good night to you both.,guard_02.pcm,opal_en_zh,,,",
];

function write(rows: readonly string[] = ROWS): void {
  writeFileSync(join(folder, "lines.csv"), `${[HEADER, ...rows].join("\n")}\n`);
}

const narrate = (more: Record<string, unknown> = {}): Promise<NarrationOutput> =>
  narrator.narrate({ file: "lines.csv", ...more });

const names = ({ files }: NarrationOutput): string[] => files.map(({ path }) => basename(path));
const saved = async (): Promise<string[]> =>
  (await narrator.testFolders.outputNames()).filter((name) => !name.startsWith("."));
const asked = (): unknown[] => [...narrator.service.tasks.values()].map(({ body }) => JSON.parse(body));
const NAMES = ["guard_01.pcm", "cook_01.pcm", "03-Then-pass-and-be-quick.pcm", "guard_02.pcm"];

describe("a sheet", () => {
  it("is a file for each row, in its voice and settings, without captions, and a repeat costs nothing", async () => {
    write();
    const plan = await narrate();
    expect(plan).toMatchObject({ status: "planned", parts: { total: 4 }, credits: { estimate: 40 } });
    expect(plan.chapters).toBeUndefined();
    const { narration_id, next_step } = plan;
    const max_credits = Number(/max_credits (\d+)/.exec(next_step)?.[1]);
    const done = await narrator.narrate({ narration_id, max_credits });
    expect(done).toMatchObject({ status: "finished", credits: { charged: 40 } });
    expect(names(done)).toEqual(NAMES);
    expect(await saved()).toEqual([...NAMES].sort());
    for (const { path, duration_seconds } of done.files) {
      expect([readFileSync(path).length, duration_seconds]).toEqual([PART_BYTES, 4]);
    }
    expect(asked()).toEqual([
      expect.objectContaining({
        prompt: "Halt! Who goes there?",
        voice: "opal_en_zh",
        speed: 0.9,
        pitch: -2,
      }),
      expect.objectContaining({ prompt: "A friend with bread.", voice: "felix_zh", volume: 1.5 }),
      expect.not.objectContaining({ voice: expect.anything() }),
      expect.objectContaining({ prompt: "Good night to you both.", voice: "opal_en_zh" }),
    ]);
    expect(done.next_step).toBe("Tell the user the folder and how many files there are.");
    const again = await narrate({ max_credits });
    expect(again.files).toEqual(done.files);
    expect(again.message).toContain("nothing for this call");
    expect(narrator.service.count("create")).toBe(4);
  });

  it("with one changed row pays for that row, and the others keep their files", async () => {
    write();
    const first = await narrate({ max_credits: 600 });
    write(ROWS.with(2, "Then pass and be silent.,,,,,"));
    const plan = await narrate();
    expect(plan.message).toContain(
      "1 of 4 parts is new: about 10 credits; the other 3 are paid for already.",
    );
    // Audio that is longer than estimated costs no more while the minimum charge covers it.
    expect(plan.credits.estimate).toBe(10);
    const second = await narrate({ max_credits: 600 });
    expect(second).toMatchObject({ status: "finished", credits: { charged: 10 } });
    expect(names(second)).toEqual(NAMES.with(2, "03-Then-pass-and-be-silent.pcm"));
    expect(
      second.files.map(({ path }) => path).filter((path) => first.files.some((file) => file.path === path)),
    ).toHaveLength(3);
    expect(narrator.service.count("create")).toBe(5);
  });

  it("with other names in the column file pays nothing, and is saved under those names", async () => {
    write();
    await narrate({ max_credits: 600 });
    write(ROWS.with(0, "Halt! Who goes there?,sentry,opal_en_zh,0.9,-2,"));
    const renamed = await narrate({ max_credits: 600 });
    expect(names(renamed)).toEqual(NAMES.with(0, "sentry.pcm"));
    expect(narrator.service.count("create")).toBe(4);
  });

  it("puts file_name before the names of unnamed rows, and a number after a name that is taken", async () => {
    write();
    mkdirSync(narrator.testFolders.outputDir, { recursive: true });
    writeFileSync(join(narrator.testFolders.outputDir, "guard_01.pcm"), "somebody's");
    const done = await narrate({ max_credits: 600, file_name: "gate" });
    expect(names(done)).toEqual(
      NAMES.with(0, "guard_01-2.pcm").with(2, "gate-03-Then-pass-and-be-quick.pcm"),
    );
    expect(done.message).toContain('A file named "guard_01.pcm" was there already');
  });

  it("never gives a row the numbered name of another one", async () => {
    mkdirSync(narrator.testFolders.outputDir, { recursive: true });
    writeFileSync(join(narrator.testFolders.outputDir, "a.pcm"), "mine");
    writeFileSync(join(folder, "lines.csv"), "text,file\nAlpha one,a\nAlpha two,a-2\n");
    expect(names(await narrate({ max_credits: 600 }))).toEqual(["a-3.pcm", "a-2.pcm"]);
  });

  it("uses the call's settings for empty cells, and the speaker's before those", async () => {
    write(["Halt!,,,,,", "Go!,,Guard,,,", "Stop!,,guard,1.5,,"]);
    const voices = ["GUARD: opal_en_zh speed 0.8 pitch 0"];
    await narrate({ max_credits: 600, voice: "felix_zh", speed: 1.2, pitch: 3, voices });
    expect(asked()).toEqual([
      expect.objectContaining({ voice: "felix_zh", speed: 1.2, pitch: 3 }),
      expect.objectContaining({ voice: "opal_en_zh", speed: 0.8 }),
      expect.objectContaining({ voice: "opal_en_zh", speed: 1.5 }),
    ]);
    expect(asked().slice(1)).not.toContainEqual(expect.objectContaining({ pitch: 3 }));
  });

  it("with two equal rows pays for one task, and saves both files", async () => {
    write(["Halt!,one,,,,", "Halt!,two,,,,"]);
    const done = await narrate({ max_credits: 300 });
    expect(done).toMatchObject({ status: "finished", credits: { charged: 10 } });
    expect(names(done)).toEqual(["one.pcm", "two.pcm"]);
    expect(narrator.service.count("create")).toBe(1);
  });

  it("with one row is a file with that row's name", async () => {
    write(ROWS.slice(0, 1));
    expect(names(await narrate({ max_credits: 300 }))).toEqual(["guard_01.pcm"]);
  });

  it("pronounces words as the pronunciations say", async () => {
    write();
    await narrate({ max_credits: 600, pronounce: ["bread=bred"] });
    expect(asked()).toContainEqual(expect.objectContaining({ prompt: "A friend with bred." }));
  });
});

it("after a failure the files of other rows are saved if one row fails, and the next call retries only that row", async () => {
  write();
  narrator.service.intercept = (exchange, response) => {
    if (exchange.kind !== "create" || !exchange.body.includes("bread")) return false;
    narrator.service.refuse(response, 422, "invalid_request", "no bread");
    return true;
  };
  const ended = await narrate({ max_credits: 600 });
  expect(ended).toMatchObject({ status: "stopped", parts: { saved: 3 }, problems: [{ part: 2 }] });
  expect(names(ended)).toEqual(NAMES.toSpliced(1, 1));
  expect(ended.message).toContain("Saved 3 files in ");
  expect(ended.message).toContain("Not in any file: part 2 of 4.");
  narrator.service.intercept = undefined;
  const { narration_id } = ended;
  expect(names(await narrator.narrate({ narration_id, max_credits: 600 }))).toEqual(NAMES);
  expect(narrator.service.tasks.size).toBe(4);
});

it("a row is retaken by its number, even if two rows have equal words", async () => {
  write(["Halt!,one,opal_en_zh,,,", "Halt!,two,felix_zh,,,", " ,,,,,", "Go!,three,felix_zh,,,"]);
  const { narration_id, files } = await narrate({ max_credits: 600 });
  expect(files.map(({ row }) => row)).toEqual([2, 3, 5]);
  const call = { narration_id, max_credits: 600, replace: true };
  const done = await narrator.narrate({
    ...call,
    retakes: [{ quote: "row 3" }, { quote: "Row 5", take: 4 }],
  });
  const changed = done.files.map(({ path }, index) => path !== files[index]?.path);
  expect([changed, names(done)]).toEqual([
    [false, false, false],
    ["one.pcm", "two.pcm", "three.pcm"],
  ]);
  expect(narrator.service.count("create")).toBe(5);
  const unknown = await narrator.client.call("narrate", { ...call, retakes: [{ quote: "row 4" }] });
  expect(unknown.isError).toBe(true);
});

it("a sheet with other file names is not taken for a running one whose texts are typed otherwise", async () => {
  narrator.service.processingMs = 60_000;
  write(["It's me.,guard,,,,", "It's you.,mage,,,,"]);
  const { narration_id } = await narrate({ max_credits: 600, wait_seconds: 0 });
  await expect.poll(() => narrator.service.tasks.size).toBe(2);
  write(["It’s me.,guard,,,,", "It’s you.,mage,,,,"]);
  expect(await narrate({ wait_seconds: 0 })).toMatchObject({ narration_id });
  write(["It’s me.,hero,,,,", "It’s you.,king,,,,"]);
  const plan = await narrate({ max_credits: 600, wait_seconds: 0 });
  expect(plan).toMatchObject({ status: "planned", message: expect.stringContaining("Asked first: ") });
  narrator.service.processingMs = 0;
  for (const task of narrator.service.tasks.values()) task.status = "succeeded";
  const done = await narrator.narrate({
    narration_id: plan.narration_id,
    max_credits: 600,
    wait_seconds: 25,
  });
  expect(names(done)).toEqual(["hero.pcm", "king.pcm"]);
});

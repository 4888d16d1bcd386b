/** `replace`: a narration's files take the names of unchanged files that this server saved, and of no other files. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { buildText, type NarrationOutput, openNarratorEach, paragraph } from "./narrator.ts";

const narrator = openNarratorEach();
let texts: string;
beforeEach(async () => {
  texts = join(narrator.testFolders.root, "texts");
  mkdirSync(texts);
  await narrator.restart({ AUDIO_INPUT_DIR: texts });
});

const names = ({ files }: NarrationOutput): string[] => files.map(({ path }) => basename(path));
const companionNames = ({ files }: NarrationOutput): string[] =>
  files
    .flatMap(({ captions_path, srt_path, chapters_path }) => [captions_path, srt_path, chapters_path])
    .flatMap((path) => (path === undefined ? [] : [basename(path)]))
    .toSorted();
const saved = async (): Promise<string[]> =>
  (await narrator.testFolders.outputNames()).filter((name) => !name.startsWith("."));
const out = (name: string): string => join(narrator.testFolders.outputDir, name);
const sheet = async (
  rows: readonly string[],
  more: Record<string, unknown> = {},
): Promise<NarrationOutput> => {
  writeFileSync(join(texts, "lines.csv"), `text,file\n${rows.join("\n")}\n`);
  return await narrator.narrate({ file: "lines.csv", max_credits: 900, ...more });
};

it("a changed row of a sheet keeps its file name, and the other files stay", async () => {
  await sheet(["Alpha one,a", "Bravo two,b"]);
  const [a, b] = [readFileSync(out("a.pcm")), readFileSync(out("b.pcm"))];
  const plan = await sheet(["Alpha one,a", "Bravo three,b"], { replace: true, max_credits: 0 });
  expect(plan.next_step).toContain("with replace true");
  const done = await sheet(["Alpha one,a", "Bravo three,b"], { replace: true });
  expect(names(done)).toEqual(["a.pcm", "b.pcm"]);
  expect(done.message).not.toContain("already, so");
  expect(done.message).toMatch(/Saved 1 new file in .*: b\.pcm; 1 file as before \(/);
  expect(await saved()).toEqual(["a.pcm", "b.pcm"]);
  const { narration_id } = done;
  const retaken = await narrator.narrate({ narration_id, retakes: [{ quote: "row 2" }], max_credits: 900 });
  expect(retaken.message).toMatch(
    /Saved 1 new file in .*: a-2\.pcm \(a\.pcm has the earlier recording\); 1 file as/,
  );
  expect(readFileSync(out("a.pcm")).equals(a)).toBe(true);
  expect(readFileSync(out("b.pcm")).equals(b)).toBe(false);
  expect(narrator.service.count("create")).toBe(4);
});

it("without it the changed row gets a number, and the same call with it then takes the name", async () => {
  await sheet(["Alpha one,a", "Bravo two,b"]);
  const numbered = await sheet(["Alpha one,a", "Bravo three,b"]);
  expect(names(numbered)).toEqual(["a.pcm", "b-2.pcm"]);
  const bytes = readFileSync(out("b-2.pcm"));
  const { narration_id } = numbered;
  expect(numbered.message).toContain(
    `To give it that name instead (free): narrate with narration_id ${narration_id} and replace true;`,
  );
  const done = await narrator.narrate({ narration_id, replace: true });
  expect(names(done)).toEqual(["a.pcm", "b.pcm"]);
  expect(done.message).not.toContain("already, so");
  expect(done.message).toContain("nothing for this call");
  expect(await saved()).toEqual(["a.pcm", "b.pcm"]);
  expect(readFileSync(out("b.pcm")).equals(bytes)).toBe(true);
  expect(narrator.service.count("create")).toBe(3);
});

it("a take that got a number takes the name by the call that the answer names, which needs no limit", async () => {
  const text = buildText("One", "Two");
  const { narration_id } = await narrator.narrate({ text, max_credits: 900, file_name: "tale" });
  const retakes = [{ quote: "So ends Two" }];
  const numbered = await narrator.narrate({ narration_id, retakes, max_credits: 900 });
  expect(names(numbered)).toEqual(["tale-2.pcm"]);
  const plan = await narrator.narrate({ narration_id, retakes: [{ quote: "So ends One" }], replace: true });
  expect(plan.status).toBe("planned");
  expect(await saved()).toContain("tale-2.pcm");
  const done = await narrator.narrate({ narration_id, replace: true });
  expect(names(done)).toEqual(["tale.pcm"]);
  expect(await saved()).toEqual(["tale.pcm", "tale.vtt"]);
  expect(narrator.service.count("create")).toBe(3);
});

it("a number that was added because of another audio format is not blamed on a file of somebody else", async () => {
  mkdirSync(narrator.testFolders.outputDir, { recursive: true });
  writeFileSync(out("tale.wav"), "brought");
  const done = await narrator.narrate({ text: buildText("One"), max_credits: 900, file_name: "tale" });
  expect(names(done)).toEqual(["tale-2.pcm"]);
  const again = await narrator.narrate({ narration_id: done.narration_id, replace: true });
  for (const { message } of [done, again]) {
    expect(message).not.toContain("did not save");
    expect(message).not.toContain("replace true");
  }
});

it("rows that swap their names get each other's", async () => {
  await sheet(["Alpha one,a", "Bravo two,b"]);
  const [a, b] = [readFileSync(out("a.pcm")), readFileSync(out("b.pcm"))];
  const done = await sheet(["Alpha one,b", "Bravo two,a"], { replace: true });
  expect(names(done)).toEqual(["b.pcm", "a.pcm"]);
  expect(readFileSync(out("b.pcm")).equals(a)).toBe(true);
  expect(readFileSync(out("a.pcm")).equals(b)).toBe(true);
  expect(narrator.service.count("create")).toBe(2);
});

it("another take gets the name of the earlier one, and the earlier take can be restored free of charge", async () => {
  const text = buildText("One", "Two");
  const first = await narrator.narrate({ text, max_credits: 900, file_name: "tale" });
  const { narration_id } = first;
  const bytes = readFileSync(out("tale.pcm"));
  const call = { narration_id, max_credits: 900, replace: true };
  const retaken = await narrator.narrate({ ...call, retakes: [{ quote: "So ends Two" }] });
  expect(names(retaken)).toEqual(["tale.pcm"]);
  expect(readFileSync(out("tale.pcm")).equals(bytes)).toBe(false);
  const back = await narrator.narrate({ ...call, retakes: [{ quote: "So ends Two", take: 1 }] });
  expect(names(back)).toEqual(["tale.pcm"]);
  expect(readFileSync(out("tale.pcm")).equals(bytes)).toBe(true);
  expect(await saved()).toEqual(["tale.pcm", "tale.vtt"]);
  expect(existsSync(out("tale (previous).pcm"))).toBe(false);
  expect(narrator.service.count("create")).toBe(3);
});

it("another take gets the name of the earlier one, however many narrations are newer", async () => {
  const first = await narrator.narrate({
    text: buildText("One", "Two"),
    max_credits: 900,
    file_name: "tale",
  });
  for (let newer = 0; newer < 51; newer += 1) await narrator.narrate({ text: buildText(`Newer ${newer}`) });
  const call = { narration_id: first.narration_id, max_credits: 900, replace: true };
  const retaken = await narrator.narrate({ ...call, retakes: [{ quote: "So ends Two" }] });
  expect(names(retaken)).toEqual(["tale.pcm"]);
});

it("an edit has the name of its narration with a number, or without one if it replaces the file", async () => {
  const { narration_id, files } = await narrator.narrate({ text: buildText("One", "Two"), max_credits: 900 });
  const name = basename(files[0]?.path ?? "");
  const edits = [{ quote: "So ends Two", replacement: "So closes Two" }];
  const edited = await narrator.narrate({ narration_id, edits, max_credits: 900 });
  expect(names(edited)).toEqual([name.replace(".pcm", "-2.pcm")]);
  const replaced = await narrator.narrate({
    narration_id: edited.narration_id,
    max_credits: 900,
    replace: true,
  });
  expect(names(replaced)).toEqual([name]);
  expect(await saved()).toEqual([name, name.replace(".pcm", ".vtt")]);
});

it("replace takes the name of a single request's file, too, and says why it cannot take that of another file", async () => {
  await narrator.client.call("generate_audio", {
    prompt: "Hi.",
    file_name: "tale",
    output_format: "pcm",
    wait_seconds: 20,
  });
  const call = { text: buildText("One", "Two"), max_credits: 900, file_name: "tale", replace: true };
  expect(names(await narrator.narrate(call))).toEqual(["tale.pcm"]);
  expect(await saved()).toEqual(["tale.pcm", "tale.vtt"]);
  writeFileSync(out("song.pcm"), "brought");
  const numbered = await narrator.narrate({ ...call, file_name: "song" });
  expect(numbered.message).toContain("This server did not save that file, or it has changed since.");
});

it("a file that a newer narration has replaced is told as gone for the older one, in every answer", async () => {
  const text = "The childern ran to the river.";
  const older = await narrator.narrate({ text, file_name: "bells", max_credits: 900 });
  const edits = [{ quote: "childern", replacement: "children" }];
  const newer = await narrator.narrate({
    narration_id: older.narration_id,
    edits,
    max_credits: 900,
    replace: true,
  });
  expect(names(newer)).toEqual(["bells.pcm"]);
  const told = await narrator.narrate({ narration_id: older.narration_id });
  expect(told).toMatchObject({ status: "finished", files: [] });
  expect(told.message).toContain(`Not there any more as it was saved: ${out("bells.pcm")}`);
  const { structuredContent } = await narrator.client.call("list_tasks", {});
  expect(structuredContent).toMatchObject({
    tasks: [
      { narration_id: newer.narration_id, audio_paths: [out("bells.pcm")] },
      { narration_id: older.narration_id, replaced_by: [newer.narration_id] },
    ],
  });
  const { files } = await narrator.narrate({ narration_id: older.narration_id, max_credits: 900 });
  expect(files.map(({ path }) => basename(path))).toEqual(["bells-2.pcm"]);
  expect(narrator.service.count("create")).toBe(2);
});

// Captions are settings of the server, so that they may change between any two calls.
const CAPTIONS = { vtt: [".vtt"], srt: [".srt"], both: [".vtt", ".srt"] } as const;
const captionCases = (
  [
    ["vtt", "srt", "vtt"],
    ["vtt", "srt", "srt"],
    ["srt", "vtt", "both"],
    ["both", "vtt", "vtt"],
    ["both", "srt", "both"],
    ["srt", "both", "srt"],
  ] as const
).map(([first, second, third]) => ({ first, second, third }));

it.each(captionCases)(
  "captions and chapters follow the audio: $first, then $second, then a retake with $third",
  async ({ first, second, third }) => {
    const use = (captions: string) => narrator.restart({ AUDIO_INPUT_DIR: texts, AUDIO_CAPTIONS: captions });
    const text = `# Down\n\n${paragraph("One")}\n\n# Up\n\n${paragraph("Two")}`;
    const call = { text, file_name: "tale", max_credits: 900 };
    await use(first);
    const { narration_id } = await narrator.narrate(call);
    await use(second);
    await narrator.narrate({ narration_id, max_credits: 900 });
    await use(third);
    await narrator.narrate({ narration_id, max_credits: 900, retakes: [{ quote: "So ends Two" }] });
    const done = await narrator.narrate({ narration_id, max_credits: 900, replace: true });
    expect(names(done)).toEqual(["tale.pcm"]);
    const beside = [...CAPTIONS[third].map((extension) => `tale${extension}`), "tale.chapters.json"];
    expect(companionNames(done)).toEqual(beside.toSorted());
    expect(await saved()).toEqual(["tale.pcm", ...beside].toSorted());
    // An edit is another narration; it takes what lies beside the audio, too.
    await use(first);
    const edits = [{ quote: "So ends Two", replacement: "So closes Two" }];
    const edited = await narrator.narrate({ ...call, text: undefined, narration_id, edits, replace: true });
    const besideEdit = [...CAPTIONS[first].map((extension) => `tale${extension}`), "tale.chapters.json"];
    expect(companionNames(edited)).toEqual(besideEdit.toSorted());
    expect(await saved()).toEqual(["tale.pcm", ...besideEdit].toSorted());
    for (const extension of CAPTIONS[first])
      expect(readFileSync(out(`tale${extension}`), "utf8")).toContain("So closes Two.");
  },
);

it("captions that somebody edited stay, the new ones get a number, and the result says so", async () => {
  const text = buildText("One", "Two");
  const { narration_id } = await narrator.narrate({ text, max_credits: 900, file_name: "tale" });
  writeFileSync(out("tale.vtt"), "edited");
  const call = { narration_id, max_credits: 900 };
  await narrator.narrate({ ...call, retakes: [{ quote: "So ends Two" }] });
  const done = await narrator.narrate({ ...call, replace: true });
  expect(names(done)).toEqual(["tale.pcm"]);
  expect(companionNames(done)).toEqual(["tale-2.vtt"]);
  expect(await saved()).toEqual(["tale-2.vtt", "tale.pcm", "tale.vtt"]);
  expect(readFileSync(out("tale.vtt"), "utf8")).toBe("edited");
  expect(done.message).toContain('"tale.vtt" is another file, so what lies beside the audio has a number.');
});

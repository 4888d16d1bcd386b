/** Files of a narration are named after the file that its text was read from. */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { runCommand } from "../support/run-command.ts";
import { type NarrationOutput, Narrator } from "./narrator.ts";

const BOOK = ["One", "Two", "Three"].map((title) => `# ${title}\n\nIt is ${title}.`).join("\n\n");
const LIMIT = { max_credits: 900 };

let narrator: Narrator;
let texts: string;
beforeEach(async () => {
  narrator = await Narrator.start();
  texts = join(narrator.testFolders.root, "texts");
  mkdirSync(texts);
  await narrator.restart({ AUDIO_INPUT_DIR: texts });
});
afterEach(() => narrator.stop());

const write = (name: string, text = BOOK): void => writeFileSync(join(texts, name), text);
const names = ({ files }: NarrationOutput): string[] => files.map(({ path }) => basename(path));

it.each([
  ["scene.md", {}, ["scene.pcm"]],
  ["My book v1.2.md", {}, ["My book v1.2.pcm"]],
  ["book.md", { files: "chapters" }, ["book-01-One.pcm", "book-02-Two.pcm", "book-03-Three.pcm"]],
  ["book.md", { chapters: "2-3" }, ["book-chapters-2-to-3.pcm"]],
  ["book.md", { file_name: "tale" }, ["tale.pcm"]],
  ["draft .md", {}, [expect.stringMatching(/^It-is-One-[0-9a-f]{8}\.pcm$/)]],
])("a text in %s, with %j, is saved as %j", async (file, more, saved) => {
  write(file);
  expect(names(await narrator.narrate({ file, ...more, ...LIMIT }))).toEqual(saved);
});

it("chapters that are chosen from a plan are named after its file, and an edit has the file's name", async () => {
  write("book.md");
  const { narration_id } = await narrator.narrate({ file: "book.md", ...LIMIT });
  expect(names(await narrator.narrate({ narration_id, chapters: "2", ...LIMIT }))).toEqual([
    "book-chapter-2.pcm",
  ]);
  const edits = [{ quote: "It is Two", replacement: "It is not Two" }];
  expect(names(await narrator.narrate({ narration_id, edits, ...LIMIT }))).toEqual(["book-2.pcm"]);
});

it("a narration that was made of a pasted text keeps its name", async () => {
  const pasted = names(await narrator.narrate({ text: BOOK, ...LIMIT }));
  write("book.md");
  expect(names(await narrator.narrate({ file: "book.md", ...LIMIT }))).toEqual(pasted);
});

it.each([
  ["a text", { text: BOOK }],
  ["another file", { file: "draft.md" }],
])("a plan of %s is named after the file that the same text is planned from next", async (_, first) => {
  write("draft.md");
  write("final.md");
  write("last.md");
  await narrator.narrate(first);
  await narrator.narrate({ file: "final.md" });
  const { narration_id } = await narrator.narrate({ file: "last.md" });
  expect(names(await narrator.narrate({ narration_id, ...LIMIT }))).toEqual(["last.pcm"]);
});

it("a plan keeps the name that a call has chosen, whatever file its text comes from next", async () => {
  write("draft.md");
  write("final.md");
  await narrator.narrate({ file: "draft.md", file_name: "tale" });
  expect(names(await narrator.narrate({ file: "final.md", ...LIMIT }))).toEqual(["tale.pcm"]);
});

it("the command narrate names its file after the text, too", async () => {
  write("scene.md");
  const env = narrator.testFolders.env(narrator.service, FAST);
  const args = ["narrate", join(texts, "scene.md"), "--output-format", "pcm", "--max-credits", "900"];
  expect((await runCommand(args, env)).stdout).toMatch(/\/scene\.pcm\n/);
});

/**
 * Huge texts through the built bin: each is planned, or refused for its own reason, while other calls are answered.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { MAX_TEXT_FILE_BYTES } from "../../src/files/text-bytes.ts";
import { resultTextOf } from "../support/tool-result.ts";
import { openNarratorAll } from "./narrator.ts";

const LARGE_BYTES = 256 * 1024;
const filled = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / unit.length));

/**
 * A plan, or the refusal of a text whose planning takes too long or too much memory. Which one the call returns depends
 * on the speed and the load of the machine.
 */
const PLANNED_OR_REFUSED =
  /A plan of \d+ parts|Planning the text took (?:longer than 15 s|more than 1024 MiB)/;
const TOO_MANY = /headings.*at most 20000 parts|took longer/;

const narrator = openNarratorAll();
let inputDir: string;
beforeAll(async () => {
  inputDir = join(narrator.testFolders.root, "texts");
  await mkdir(inputDir);
  // A smaller time scale would shorten limits of time, but not the work.
  await narrator.restart({ AUDIO_INPUT_DIR: inputDir, AUDIO_TIME_SCALE: "1" });
});

/** Kinds of text that are tried in a file of the maximum size. */
const LARGEST = [
  ["one line", "md", "The river ran past the old mill and on to the sea. ", PLANNED_OR_REFUSED],
  ["headings", "md", "# A\n", TOO_MANY],
  ["brackets", "md", "[a](", PLANNED_OR_REFUSED],
] as const;

/** Kinds of text that are tried in a file of `LARGE_BYTES`. Each takes a few seconds at most. */
const LARGE = [
  ["one word", "txt", "river", PLANNED_OR_REFUSED],
  ["numerals", "txt", "I.\n\nYes.\n\n", PLANNED_OR_REFUSED],
  ["labels", "txt", "ANNA: Yes.\n\nBEN: No.\n\n", TOO_MANY],
  ["a list", "md", "- one\n", PLANNED_OR_REFUSED],
  ["a plain list", "txt", "- one\n", PLANNED_OR_REFUSED],
  ["quotations", "md", "> one\n", PLANNED_OR_REFUSED],
  ["emphases", "md", "*very* **good** ", PLANNED_OR_REFUSED],
  ["stars", "md", "*", /nothing to speak|took longer/],
  ["subscripts", "md", "a<sub>", PLANNED_OR_REFUSED],
] as const;

it.each([
  ...LARGEST.map(([...kind]) => [...kind, MAX_TEXT_FILE_BYTES] as const),
  ...LARGE.map(([...kind]) => [...kind, LARGE_BYTES] as const),
])(
  "a huge text of %s",
  async (name, extension, unit, answer, bytes) => {
    const file = `${name.replace(" ", "-")}.${extension}`;
    await writeFile(join(inputDir, file), filled(unit, bytes));
    const answered: string[] = [];
    const voices = name === "labels" ? { voices: ["ANNA: felix_zh", "BEN: stokie_en"] } : {};
    const planned = narrator.client
      .call("narrate", { file, ...voices })
      .finally(() => answered.push("narrate"));
    const listed = narrator.client.call("list_tasks", {}).finally(() => answered.push("list_tasks"));
    const [outcome] = await Promise.all([planned, listed]);
    expect(resultTextOf(outcome)).toMatch(answer);
    expect(answered).toEqual(["list_tasks", "narrate"]);
  },
  60_000,
);

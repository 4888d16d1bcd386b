/** The names of chapters and files of a finished narration. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { openNarratorEach } from "./narrator.ts";

const narrator = openNarratorEach();

async function chaptersOf(text: string): Promise<unknown> {
  const { files } = await narrator.narrate({ text, max_credits: 1000 });
  const path = files[0]?.path.replace(/\.\w+$/, ".chapters.json") ?? "";
  const { chapters } = JSON.parse(await readFile(path, "utf8"));
  return chapters.map(({ title }: { readonly title: unknown }) => title);
}

const BODY = "# Dusk\n\nIt is late.\n\n# Dawn\n\nGood night.";

it("text before the first heading is not a chapter if the narration is named after that heading", async () => {
  expect(await chaptersOf(`For Ana.\n\n${BODY}`)).toEqual(["Dusk", "Dawn"]);
});

it("text before the first heading is a chapter with the text's title if the text has one", async () => {
  expect(await chaptersOf(`---\ntitle: Nights\n---\n\nFor Ana.\n\n${BODY}`)).toEqual([
    "Nights",
    "Dusk",
    "Dawn",
  ]);
});

it("files of chapters are one file with one name if the text has one chapter", async () => {
  const { files } = await narrator.narrate({
    text: "# One\n\nIt is late.",
    files: "chapters",
    max_credits: 1000,
  });
  expect(files.map(({ path }) => basename(path))).toEqual([expect.stringMatching(/^One-[0-9a-f]{8}\.pcm$/)]);
  expect(files[0]?.chapter).toBeUndefined();
});

it("files of chapters are numbered and named if there are several", async () => {
  const plan = await narrator.narrate({ text: BODY, files: "chapters" });
  expect(plan.message).toContain("2 files, one for each chapter.");
  const { files } = await narrator.narrate({ text: BODY, files: "chapters", max_credits: 1000 });
  expect(files.map(({ path }) => basename(path))).toEqual([
    expect.stringMatching(/-01-Dusk\.pcm$/),
    expect.stringMatching(/-02-Dawn\.pcm$/),
  ]);
});

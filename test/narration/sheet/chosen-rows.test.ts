/** Rows of a sheet that `chapters` chooses: which they are, and what their files are called. */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { openNarratorEach } from "../narrator.ts";

const LIMIT = { max_credits: 900 };

const narrator = openNarratorEach();
let folder: string;
beforeEach(async () => {
  folder = join(narrator.testFolders.root, "texts");
  mkdirSync(folder);
  await narrator.restart({ AUDIO_INPUT_DIR: folder });
});

const write = (...lines: readonly string[]): void =>
  writeFileSync(join(folder, "lines.csv"), `${lines.join("\n")}\n`);

/** Makes the chosen rows. Returns their texts as they were paid for, and the names of their files. */
async function make(chapters: string) {
  const { files, status } = await narrator.narrate({ file: "lines.csv", chapters, ...LIMIT });
  expect(status).toBe("finished");
  const prompts = [...narrator.service.tasks.values()].map(({ body }) => String(JSON.parse(body).prompt));
  return { prompts, names: files.map(({ path }) => basename(path)) };
}

it.each([
  ["that no file may have", "bad:name"],
  ["that the chosen row has, too", "guard"],
  ["that the chosen row has in another case", "GUARD.pcm"],
])("a row is saved under its name if another, which is not chosen, has one %s", async (_, other) => {
  write("file,text", "guard,Stop right there!", `${other},Who goes there?`, "mage,Hello traveller.");
  expect(await make("1")).toEqual({ prompts: ["Stop right there!"], names: ["guard.pcm"] });
});

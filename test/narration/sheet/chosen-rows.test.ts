/** Rows of a sheet that `chapters` chooses: which they are, and what their files are called. */
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { resultTextOf } from "../../support/tool-result.ts";
import { openNarratorEach } from "../narrator.ts";

const LIMIT = { max_credits: 900 };

const narrator = openNarratorEach();
let folder: string;
beforeEach(async () => {
  folder = await narrator.openTexts();
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

const COUNTED = ["text", "Intro of it.", "1. First thing.", "2. Second thing.", "3. Third thing.", "Outro."];
const NUMBERED = ["file,text", "intro,Welcome.", "chapter 1,First.", "chapter 2,Second.", "chapter 3,Third."];
const SILENT = ["file,text", "one,First.", "none,...", "two,Second.", "three,Third."];

it.each([
  ["1", COUNTED, ["Intro of it."]],
  ["5", COUNTED, ["Outro."]],
  ["last", COUNTED, ["Outro."]],
  ["1", NUMBERED, ["Welcome."]],
  ["chapter 1", NUMBERED, ["First."]],
  ["2-3", SILENT, ["Second.", "Third."]],
  ["row 4", SILENT, ["Second."]],
  ["Rows 2-4", SILENT, ["First.", "Second."]],
  ["row 2, row 5", SILENT, ["First.", "Third."]],
  ["row 2", ["file,text", "row 1,First.", "row 2,Second."], ["Second."]],
  ["row 2", ["text", "Row 3 is yours.", "Row 2 is mine."], ["Row 3 is yours."]],
  ["1", ["file,text", "only,The only row."], ["The only row."]],
  ["only", ["file,text", "only,The only row."], ["The only row."]],
])("chapters %j of %j is %j", async (chapters, lines, prompts) => {
  write(...lines);
  expect((await make(chapters)).prompts.sort()).toEqual([...prompts].sort());
});

it.each([
  ["7", SILENT, /The sheet has no spoken row "7"; it has 3, from 1 "one" to 3 "three"\. Nothing was sent\./],
  [
    "2",
    ["file,text", "only,Alone."],
    /The sheet has no spoken row "2"; it has 1 "only"\. Nothing was sent\./,
  ],
  ["row 3", SILENT, /The sheet has no spoken row "row 3"; .*number in the sheet, whose header is row 1\./s],
  ["row 1", SILENT, /The sheet has no spoken row "row 1"/],
  ["ann", ["file,text", "ann 1,Hi.", "ann 2,Ho."], /"ann" is in several rows: 1 "ann 1", 2 "ann 2"\./],
  ["1", ["file,text", "a,...", "b,"], /no row with a text/],
])("chapters %j of %j is refused in the words of sheets", async (chapters, lines, words) => {
  write(...lines);
  const text = resultTextOf(await narrator.client.call("narrate", { file: "lines.csv", chapters }));
  expect(text).toMatch(words);
  expect(text).not.toMatch(/no chapter|several chapters/);
  expect(narrator.service.exchanges).toEqual([]);
});

it("the plan names chosen rows by their names, and never by words that an edit has changed", async () => {
  write("text,file", "Alpha says hello.,", "Beta says hello.,", "Gamma says hello.,gamma");
  const plan = await narrator.narrate({ file: "lines.csv", chapters: "2-3" });
  expect(plan.message).toContain(
    'Only 2 of its 3 rows: "gamma" and 1 more (rows 3 to 4; the header is row 1)',
  );
  const edits = [{ quote: "Beta", replacement: "Delta" }];
  const edited = await narrator.narrate({ narration_id: plan.narration_id, edits });
  expect(edited.message).toContain('It begins "Delta says hello."');
  expect(edited.message).not.toContain("Beta says");
});

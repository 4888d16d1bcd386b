/** Remarks describe the text of the call, both in the plan and with the finished file. */
import { expect, it } from "vitest";
import { openNarratorAll } from "./narrator.ts";

const WORDS = "# Setup\n\nIt takes a minute.";
const WITH_CODE = `${WORDS}\n\n\`\`\`sh\nnpm ci\n\`\`\``;
const UNSPOKEN_CODE = 'Not spoken: a block of code ("npm ci").';

const narrator = openNarratorAll();

it("the plan says for each of two texts with the same parts what it omits", async () => {
  const without = await narrator.narrate({ text: WORDS });
  const withCode = await narrator.narrate({ text: WITH_CODE });
  expect(withCode.narration_id).toBe(without.narration_id);
  expect(without.message).not.toContain(UNSPOKEN_CODE);
  expect(withCode.message).toContain(UNSPOKEN_CODE);
  expect((await narrator.narrate({ narration_id: withCode.narration_id })).message).toContain(UNSPOKEN_CODE);
  expect((await narrator.narrate({ text: WORDS })).message).not.toContain(UNSPOKEN_CODE);
});

it("the result says with the finished file what it omits", async () => {
  const done = await narrator.narrate({ text: WITH_CODE, max_credits: 1000 });
  expect(done).toMatchObject({ status: "finished" });
  expect(done.message).toContain(UNSPOKEN_CODE);
});

it("the plan says how a table is spoken, and nothing of it for a text without one", async () => {
  const table = `${WORDS}\n\n| Name | Age |\n|---|---|\n| Ann | 3 |`;
  expect((await narrator.narrate({ text: table })).message).toContain("A table is spoken row by row.");
  expect((await narrator.narrate({ text: WORDS })).message).not.toContain("table");
});

/** Parts begin in reading order, also if the limit lets only one begin at a time. */
import { expect, it, onTestFinished } from "vitest";
import { buildText, Narrator } from "./narrator.ts";

const NAMES = ["One", "Two", "Three", "Four", "Five"];

it.each([
  ["the suggested limit", 1000],
  ["a limit with room for two parts", 300],
  ["a limit with room for one part and a little more", 180],
])("parts begin in reading order under %s", async (_, limit) => {
  const narrator = await Narrator.start({}, { processingMs: 30 });
  onTestFinished(() => narrator.stop());
  const begun = await narrator.narrate({ text: buildText(...NAMES), max_credits: limit, wait_seconds: 20 });
  // A limit below the suggested one is answered with the plan first.
  if (begun.status === "planned")
    await narrator.narrate({ narration_id: begun.narration_id, max_credits: limit, wait_seconds: 20 });
  const sent = narrator.service.exchanges.flatMap(({ kind, body }) =>
    kind === "create" ? NAMES.filter((name) => body.includes(`${name} begins`)) : [],
  );
  expect(sent.length).toBeGreaterThan(limit < 200 ? 2 : 4);
  expect(sent).toEqual(NAMES.slice(0, sent.length));
});

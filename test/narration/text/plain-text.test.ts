/** Plans of plain text, from the text to the parts. */
import { expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { PlanRequest } from "../../../src/narration/text/plan-types.ts";

const plan = (text: string, more: Partial<PlanRequest> = {}) =>
  planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6, ...more });

it("a plan of plain text begins chapters at headings, pauses at rules and before chapters, and host names for addresses", () => {
  const text =
    "Before all.\r\n\r\nCHAPTER I.\r\nDown the Rabbit-Hole\r\n\r\nAlice was\r\nbeginning.\r\n\r\nSecond.\r\n\r\n* * *\r\n\r\nThird, see https://www.example.com/a/b.\r\n\r\nChapter 2: The Pool\r\n\r\nFourth.\r\n";
  const { chapters, parts } = plan(text);
  expect(chapters.map(({ title }) => title)).toEqual([
    null,
    "CHAPTER I. Down the Rabbit-Hole",
    "Chapter 2: The Pool",
  ]);
  expect(
    parts.map(({ text, chapterIndex, pauseAfterSeconds }) => [chapterIndex, text, pauseAfterSeconds]),
  ).toEqual([
    [0, "Before all.", 2],
    [1, "CHAPTER I.\nDown the Rabbit-Hole\n\nAlice was beginning.\n\nSecond.", 1.5],
    [1, "Third, see example.com.", 2],
    [2, "Chapter 2: The Pool\n\nFourth.", 0],
  ]);
});

it("a plan of plain text gives the lines of speakers their voices", () => {
  const text = "It was late.\n\nANNA: Hello\nthere.\nBen: Hi!\nCARL: No.\n\nNobody answered.";
  const { parts, silentSpeakers } = plan(text, {
    speakers: { Anna: "stokie_en", BEN: "opal_en_zh", Dora: "felix_zh" },
  });
  expect(parts.map(({ text, voice }) => [voice, text])).toEqual([
    [undefined, "It was late."],
    ["stokie_en", "Hello there."],
    ["opal_en_zh", "Hi!"],
    [undefined, "CARL: No.\n\nNobody answered."],
  ]);
  expect(silentSpeakers).toEqual(["Dora"]);
});

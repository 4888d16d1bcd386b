/** A plan reports settings that its kind of text does not use. */
import { expect, it } from "vitest";
import { planByKind } from "../../src/narration/planning/plan-by-kind.ts";

const SUBTITLES =
  "1\n00:00:01,000 --> 00:00:02,000\nCome in.\n\n2\n00:00:03,000 --> 00:00:04,000\nSit down.\n";
const TEXT = "Come in.\n\nSit down.";

async function notUsedIn(
  text: string,
  format: "sheet" | "srt" | "markdown",
  more: { readonly pauseSeconds?: number; readonly fileLayout?: "chapters" },
): Promise<string[]> {
  const options = { settings: {}, voices: {}, pauseSeconds: 0.6, fileLayout: "one" as const, ...more };
  const { remarks } = await planByKind({ text, format }, options);
  return remarks.map(({ sentence }) => sentence).filter((sentence) => sentence.startsWith("Not used:"));
}

it("settings without effect are reported in subtitles, even pasted ones, and in sheets", async () => {
  const both = { pauseSeconds: 2, fileLayout: "chapters" } as const;
  const inSubtitles = [
    "Not used: pauses between paragraphs and a file for each chapter, because each cue has its own time.",
  ];
  expect(await notUsedIn(SUBTITLES, "srt", both)).toEqual(inSubtitles);
  expect(await notUsedIn(SUBTITLES, "markdown", both)).toEqual(inSubtitles);
  expect(await notUsedIn("text\nCome in.\n", "sheet", { pauseSeconds: 0 })).toEqual([
    "Not used: pauses between paragraphs, because each row is a file.",
  ]);
});

it("settings are not reported if none is given, and not in a text that uses them", async () => {
  expect(await notUsedIn(SUBTITLES, "srt", {})).toEqual([]);
  expect(await notUsedIn("text\nCome in.\n", "sheet", {})).toEqual([]);
  expect(await notUsedIn(TEXT, "markdown", { pauseSeconds: 2, fileLayout: "chapters" })).toEqual([]);
});

/** Chapters whose text begins on the line below the heading, and lines that only look like such headings. */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";

const plan = (text: string) => planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6 });
const titlesOf = (text: string) => plan(text).chapters.map(({ title }) => title);

const PROSE =
  "The river ran past the old mill, and the miller's daughter sat on the\nwall and counted boats until it was too dark to see them any more, as\nshe had done each evening of that summer.\n";

describe("headings without a blank line below", () => {
  it("are found if the lines of the text were wrapped at a width", () => {
    expect(titlesOf(`CHAPTER I.\n${PROSE}CHAPTER II.\n${PROSE}CHAPTER III. THE WEIR\n${PROSE}`)).toEqual([
      "CHAPTER I.",
      "CHAPTER II.",
      "CHAPTER III. THE WEIR",
    ]);
  });

  it("are not found inside a sentence", () => {
    const text = `${PROSE}All of this had been foretold by the old man in\nChapter 3. The daughter never believed it, and went\non counting. It was reported again, and much better, in\nChapter 4. Nobody believed that either, for by then\nthe boats were gone.\n`;
    expect(titlesOf(text)).toEqual([null]);
  });

  it("are not found if the sentence continues below", () => {
    const first =
      "BOOK I. The Republic opens with a truly Greek scene, a festival in\nhonour of the goddess Bendis, which is held in the Piraeus.\n";
    const fifth =
      "The fifth book is the new beginning of the whole work, in which the\ncommunity of property and of families is first discussed.\n";
    const long = PROSE.repeat(3);
    const text = `${PROSE}\n${first}${long}\n${fifth}${long}\n${first.replace("I.", "II.")}${long}`;
    expect(titlesOf(text)).toEqual([null]);
  });

  it("are not found in a table of contents", () => {
    expect(
      titlesOf(`Contents.\nChapter 1 The Mill\nChapter 2 The Weir\nChapter 3 The Sea\n${PROSE}`),
    ).toEqual([null]);
  });
});

describe("headings without a blank line above", () => {
  const 文 = "他在高墙的上面，看见了监视塔和铁丝网，以及那些永远也不会忘记的日子。".repeat(12);

  it.each([
    ["Chinese", ["第一章", "第二章", "第三章"], "某某书网电子书下载\n", 文],
    ["below stars", ["CHAPTER 1", "CHAPTER 2", "CHAPTER 3"], "**\n", PROSE.repeat(4)],
  ])("are found: %s", (_, chapters, above, prose) => {
    const text = chapters.map((chapter) => `${above}${chapter}\n\n${prose}\n\n${prose}`).join("\n\n");
    expect(titlesOf(text).filter((title) => title !== null)).toEqual(chapters);
  });

  it("are not found if a sentence ends with a number", () => {
    const sentence = "It was told by the old man, and much better than here, in\nChapter 3\n\n";
    expect(titlesOf(`${sentence}${PROSE}\n${sentence.replace("3", "4")}${PROSE}`)).toEqual([null]);
  });
});

it("lines between two texts are not spoken, and make a pause", () => {
  const { parts, unspoken } = plan("A stitch in time saves nine.\n%\nHaste makes waste.\n%\nLook first.\n");
  expect(parts.map(({ text }) => text)).toEqual([
    "A stitch in time saves nine.",
    "Haste makes waste.",
    "Look first.",
  ]);
  expect(unspoken).toEqual([{ kind: "no_words", count: 2, excerpt: "%" }]);
});

it("lines between two texts are not found if they contain a word, or two dashes", () => {
  const { parts } = plan("It grew by 5\n% a year --\nor so they said.\n");
  expect(parts.map(({ text }) => text)).toEqual(["It grew by 5 % a year -- or so they said."]);
});

/** Which paragraphs are chapter headings, by their words and length alone. */
import { expect, it } from "vitest";
import { markChapters } from "../../../src/narration/text/chapters/mark-chapters.ts";

const isHeading = (text: string): boolean =>
  markChapters([
    { kind: "paragraph", text },
    { kind: "paragraph", text: "Alice was beginning." },
  ])[0]?.kind === "heading";

const TITLE = `Chapter 2: ${"a".repeat(89)}`;

it.each([
  ["a hundred characters", true, TITLE],
  ["a hundred and one characters", false, `${TITLE}a`],
  ["a hundred characters and white space around them", true, `${" ".repeat(40)}${TITLE}${" ".repeat(120)}`],
  ["a hundred characters and empty lines around them", true, `\n \n${" ".repeat(40)}${TITLE}  \n\n`],
  ["a hundred and one characters and white space", false, `${" ".repeat(120)}${TITLE}a${" ".repeat(120)}`],
  ["a number and a title of a hundred characters below", true, `Chapter 2\n${"a".repeat(100)}`],
  ["a number and a longer title below", false, `Chapter 2\n${"a".repeat(101)}`],
  ["a third line", false, "Chapter 2\nThe Pool\nof Tears"],
  ["no character", false, ""],
])("a paragraph with %s is a heading: %s", (_what, expected, text) => {
  expect(isHeading(text)).toBe(expected);
});

/** Which paragraphs are chapter headings, by their words and length alone. */
import { describe, expect, it } from "vitest";
import { markChapters } from "../../../src/narration/plan/chapters/mark-chapters.ts";

const isHeading = (text: string): boolean =>
  markChapters([
    { kind: "paragraph", text },
    { kind: "paragraph", text: "Alice was beginning." },
  ])[0]?.kind === "heading";

const TITLE = `Chapter 2: ${"a".repeat(89)}`;

describe("the heading of a chapter", () => {
  it.each([
    ["a hundred characters", TITLE, true],
    ["one more", `${TITLE}a`, false],
    ["white space around them", `${" ".repeat(40)}${TITLE}${" ".repeat(120)}`, true],
    ["empty lines around them", `\n \n${" ".repeat(40)}${TITLE}  \n\n`, true],
    ["one more, and white space", `${" ".repeat(120)}${TITLE}a${" ".repeat(120)}`, false],
    ["a title of a hundred characters below it", `Chapter 2\n${"a".repeat(100)}`, true],
    ["a longer title below it", `Chapter 2\n${"a".repeat(101)}`, false],
    ["a third line", "Chapter 2\nThe Pool\nof Tears", false],
    ["nothing", "", false],
  ])("has %s", (_what, text, expected) => {
    expect(isHeading(text)).toBe(expected);
  });
});

/** Chapters keep the numbers of their headings, so that "chapters 3 to 5" means the chapters with these numbers. */
import { describe, expect, it } from "vitest";
import { planByKind } from "../../../src/narration/planning/plan-by-kind.ts";
import { numberChapters } from "../../../src/narration/text/chapters/chapter-number.ts";

const numbersOf = (...titles: ReadonlyArray<string | null>) =>
  numberChapters(titles.map((title) => ({ title })));
const prose = (name: string): string => `${name} begins here. ${"The river ran to the sea. ".repeat(20)}`;
const book = (...titles: readonly string[]): string =>
  titles.map((title) => `# ${title}\n\n${prose(title)}`).join("\n\n");

async function chosen(text: string, chapters: string): Promise<{ title: string; texts: string[] }> {
  const options = { settings: {}, voices: {}, pauseSeconds: 0.6, fileLayout: "one", chapters } as const;
  const { title, parts } = await planByKind({ text, format: "markdown" }, options);
  return { title, texts: parts.map(({ text: spoken }) => spoken.split("\n")[0] ?? "") };
}

it("headings that count from 1 have their own numbers after a title page, a preface and an interlude", () => {
  expect(numbersOf("Persuasion", "Preface", "I", "II", "III")).toEqual([null, null, 1, 2, 3]);
  expect(numbersOf("Etymology", "CHAPTER 1. Loomings.", "CHAPTER 2", "CHAPTER 3", "Epilogue")).toEqual([
    null,
    1,
    2,
    3,
    null,
  ]);
  expect(numbersOf(null, "第一章 起", "第二章 承", "间奏", "第三章 转")).toEqual([0, 1, 2, null, 3]);
});

it("headings that count from 1 are chosen by these numbers, with an interlude between them, and others by title", async () => {
  const text = book("Preface", "Chapter 1", "Chapter 2", "Interlude", "Chapter 3", "Chapter 4");
  const two = await chosen(text, "2-3");
  expect(two.texts).toEqual(["Chapter 2", "Interlude", "Chapter 3"]);
  expect(two.title).toBe("Preface, Interlude, chapters 2 to 3");
  expect((await chosen(text, "preface, last")).texts).toEqual(["Preface", "Chapter 4"]);
  await expect(chosen(text, "5")).rejects.toThrow('it has 6, from "Preface" to 4 "Chapter 4"');
});

describe("a choice", () => {
  const titled = `# My Book\n\n${prose("Intro")}\n\n${["A", "B", "1984", "Top 5"].map((title) => `## ${title}\n\n${prose(title)}`).join("\n\n")}`;

  it("of the book's title, alone or in a range, is not the whole book", async () => {
    expect((await chosen(titled, "1")).texts).toEqual(["My Book"]);
    expect((await chosen(titled, "1-2")).texts).toEqual(["My Book", "A"]);
  });

  it("at a higher level includes those below it, and a range ends with those below its last", async () => {
    const text = `# One\n\n${prose("a")}\n\n## In\n\n${prose("b")}\n\n# Two\n\n${prose("c")}\n\n## Out\n\n${prose("d")}`;
    expect((await chosen(text, "one")).texts).toEqual(["One", "In"]);
    expect((await chosen(text, "2-3")).texts).toEqual(["In", "Two", "Out"]);
  });

  it("given as a number is the title with just that number, or else a position", async () => {
    expect((await chosen(titled, "1984")).texts).toEqual(["1984"]);
    expect((await chosen(titled, "5")).texts).toEqual(["Top 5"]);
    for (const wanted of ["6", "3-", "-1"]) {
      await expect(chosen(titled, wanted)).rejects.toThrow("The text has no chapter");
    }
  });
});

it("headings are numbered by position if they do not count up, restart, or are too few", () => {
  expect(numbersOf("Apples", "Pears", "Plums")).toEqual([1, 2, 3]);
  expect(numbersOf("Book I", "Chapter 1", "Chapter 2", "Book II", "Chapter 1")).toEqual([1, 2, 3, 4, 5]);
  expect(numbersOf("Preface", "Chapter 1", "Chapter 2")).toEqual([1, 2, 3]);
  expect(numbersOf(null, "Chapter 1", "Chapter 3", "Chapter 4")).toEqual([0, 1, 2, 3]);
});

it("headings are numbered by position if only one story of several has numbered chapters", () => {
  expect(numbersOf("A Scandal", "I", "II", "III", "The League", "The Case", "The Pips", "The Lip")).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8,
  ]);
});

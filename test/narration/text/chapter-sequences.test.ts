/** Headings that only their sequence reveals, and lines that look like headings but are not. */
import { describe, expect, it } from "vitest";
import { chooseNarrationTitle } from "../../../src/narration/text/narration-title.ts";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan } from "../../../src/narration/text/plan-types.ts";

const plan = (text: string): NarrationPlan =>
  planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6 });
const PROSE = "Call me Ishmael, he said, and went on for a long while about the sea. ".repeat(8);
const JAPANESE_PROSE =
  "私はその人を常に先生と呼んでいた。だからここでもただ先生と書くだけで本名は打ち明けない。".repeat(4);
const book = (headings: readonly string[], prose = PROSE): string =>
  headings.map((heading) => `${heading}\n\n${prose}\n\n${prose}`).join("\n\n");
const titles = (text: string): Array<string | null> => plan(text).chapters.map(({ title }) => title);

describe("a sequence of headings", () => {
  it.each([
    [
      "titles that end with a full stop",
      ["CHAPTER 1. Loomings.", "CHAPTER 2. The Carpet-Bag.", "CHAPTER 3. The Spouter-Inn."],
    ],
    [
      "words that are not a chapter's",
      [
        "ADVENTURE I. A SCANDAL IN BOHEMIA",
        "ADVENTURE II. THE RED-HEADED LEAGUE",
        "ADVENTURE III. A CASE OF IDENTITY",
      ],
    ],
    ["ordinals before the word", ["FIRST ACT", "SECOND ACT", "THIRD ACT"]],
    [
      "ordinals behind it",
      ["Capítulo primero. Que trata del hidalgo.", "CAPÍTULO SEGUNDO", "Capítulo III. Donde se cuenta."],
    ],
    ["an ordinal in figures behind its word, in capitals", ["CHAPTER 1ST", "CHAPTER 2ND"]],
    ["numbers in words above twelve", ["Chapter Thirteen", "Chapter Fourteen", "Chapter Twenty-One"]],
    ["Portuguese", ["CAPÍTULO VINTE E UM", "CAPÍTULO VINTE E DOIS"]],
    ["Indonesian", ["Bab Dua Puluh", "Bab Dua Puluh Satu"]],
    ["Roman numerals alone", ["I.", "II.", "III."]],
    ["Roman numerals with titles", ["I. The Period.", "II. The Mail.", "III. The Night Shadows."]],
    ["figures alone", ["1", "2", "3"]],
    ["two spaces, and unbreakable", ["Chapter  1:  Dawn.", "CHAPTER\u00a02. Noon.", "Chap. 3. Night."]],
    [
      "titles that follow without a mark",
      ["Chapter 1 PETER BREAKS THROUGH", "Chapter 2 THE SHADOW", 'Chapter 3 "HOOK OR ME"'],
    ],
    ["a word of another language", ["Глава 1", "Глава 2", "Глава 3"]],
    ["numbers with decimals", ["1.1) What is it?", "1.2) Who made it?", "2.1) Where is it?"]],
    ["spaces around a Chinese number", ["第 1 章 教程", "第 2 章 管理", "第 3 章 系统"]],
    [
      "titles that begin with a number",
      ["XVI. Still Knitting", "XVII. One Night", "XVIII. Nine Days", "XIX. An Opinion", "XX. Fifty-two"],
    ],
    ["numbers of which one is missing", ["I", "II", "IV", "V", "VI"]],
    ["numbers between dashes", ["--I--", "--II--", "--III--"]],
    ["numbers in brackets", ["[ 1 ]", "[ 2 ]", "[ 3 ]", "[ 4 ]"]],
    ["stars below the title", ["About\n*****", "Help\n****", "Legal\n*****"]],
  ])("is found: %s", (_, headings) => {
    const found = titles(book(headings));
    expect(found).toHaveLength(headings.length);
    for (const title of found) expect(title).not.toBeNull();
  });

  it.each([
    ["第一百十回史太君寿终归地府", "第一百十一回鸳鸯女殉主登太虚", "第一百十二回活冤孽妙尼遭大劫"],
    ["一", "二", "三"],
    ["第1章定義と概要", "第2章 取得", "第3章。"],
  ])("is found in Chinese and Japanese: %s, %s, %s", (...headings) => {
    expect(titles(book(headings, JAPANESE_PROSE))).toHaveLength(3);
  });

  it("may have titles of several lines", () => {
    const text = book([
      "Capítulo I. Que trata de la condición y ejercicio del famoso\nhidalgo don Quijote de la Mancha",
      "Capítulo II. Que trata de la primera\nsalida",
    ]);
    expect(titles(text)[0]).toBe(
      "Capítulo I. Que trata de la condición y ejercicio del famoso hidalgo don Quijote de la Mancha",
    );
  });

  it("is not its table of contents", () => {
    const headings = ["CHAPTER I. Jonathan.", "CHAPTER II. Mina.", "CHAPTER III. Lucy."];
    const contents = `CONTENTS\n\n${headings.join("\n\n")}\n\nEpilogue`;
    const { chapters, parts } = plan(`DRACULA\n\n${contents}\n\nNote on the text.\n\n${book(headings)}`);
    expect(chapters.map(({ title }) => title)).toEqual([null, ...headings]);
    expect(parts[0]?.text).toContain("CHAPTER III. Lucy.");
  });

  it("is not its table of contents if each of its parts is a paragraph", () => {
    const chapters = ["CHAPTER I--A MEETING", "CHAPTER II--A SKETCH", "CHAPTER III--THE LARK"];
    const parts = ["BOOK FIRST--TO CONFIDE", "BOOK SECOND--JAVERT"];
    const contents = parts.map((part) => `  ${[part, ...chapters].join("\n  ")}`).join("\n\n");
    const text = parts.map((part) => `${part}\n\n${book(chapters)}`).join("\n\n");
    expect(titles(`CONTENTS\n\nPREFACE\n\n${contents}\n\n${text}`)).toEqual([
      null,
      ...parts.flatMap((part) => [`${part}: ${chapters[0]}`, ...chapters.slice(1)]),
    ]);
  });

  it("is not its table of contents if only the first entry has the word", () => {
    const contents = "CHAPTER I. The Widow    1\n     II. The Old Mint   13\n    III. The Roof    28";
    const chapters = ["CHAPTER I.", "CHAPTER II.", "CHAPTER III."];
    expect(titles(`${contents}\n\n${book(chapters)}`)).toEqual([null, ...chapters]);
  });

  it("stands above a list that looks like a table of contents", () => {
    const list = "1. Eggs 12\n2. Milk 3\n3. Bread 1";
    const chapters = ["CHAPTER 1", "CHAPTER 2", "CHAPTER 3"];
    expect(titles(book(chapters.map((chapter) => `${chapter}\n\n${list}`)))).toEqual(chapters);
  });

  it("is not its table of contents if numbers without a word are below the parts", () => {
    const contents = "I. The Eve of the War.\nII. The Falling Star.\nIII. On Horsell Common.";
    const chapters = ["I. THE EVE OF THE WAR.", "II. THE FALLING STAR.", "III. ON HORSELL COMMON."];
    expect(titles(`BOOK ONE\n\n${contents}\n\nBOOK ONE\n\n${book(chapters)}`)).toEqual([
      null,
      `BOOK ONE: ${chapters[0]}`,
      ...chapters.slice(1),
    ]);
  });

  it("is found beside underlined headings", () => {
    const underlined = book(["Preface\n-------", "Bibliography\n------------"]);
    const chapters = ["I. LAYING PLANS", "II. WAGING WAR", "III. ATTACK BY STRATAGEM"];
    expect(titles(`${underlined}\n\n${book(chapters)}`)).toEqual(["Preface", "Bibliography", ...chapters]);
  });

  it("does not include the stanzas of a song", () => {
    const stanza = "In the days of old, when a boy was bold,\nhe sang of the sea and the sand. ".repeat(6);
    const song = ["I.", "II.", "III.", "IV."].map((number) => `${number}\n\n${stanza}`).join("\n\n");
    const chapters = ["CHAPTER I.", "CHAPTER II.", "CHAPTER III."];
    expect(titles(`${book(chapters)}\n\n${song}\n\n${PROSE}`)).toEqual(chapters);
  });

  it.each([
    ["in capitals", ["THE OLD MINT", "THE ROOF", "JONATHAN'S HOUSE"]],
    ["with a full stop", ["The Old Mint.", "The Roof and the Window.", "Mr. Kneebone and his Friends."]],
    ["in quotes", ["The Old Mint", '"Pieces of Eight"', "The Roof"]],
  ])("has the titles below: %s", (_, below) => {
    const text = book(below.map((title, index) => `CHAPTER ${index + 1}.\n\n${title}`));
    expect(titles(text)).toEqual(below.map((title, index) => `CHAPTER ${index + 1}. ${title}`));
  });

  it.each([
    ["said", ['"Well," said he.', '"Who is there?"', '"Nobody."']],
    ["by a speaker", ["ANNA: Hello there", "BERTA: Good morning.", "ANNA: How are you"]],
    ["asked", ["Who was it?", "Nobody knew!", "It was late, and dark, and nobody came."]],
  ])("does not take a first sentence as its title: %s", (_, below) => {
    const text = book(below.map((title, index) => `CHAPTER ${index + 1}.\n\n${title}`));
    expect(titles(text)).toEqual(["CHAPTER 1.", "CHAPTER 2.", "CHAPTER 3."]);
  });

  it("is not interrupted by a sentence that mentions a chapter", () => {
    const text = book(["第一回 甲", "第二回 乙", "第三回 丙", "第四回 丁"], JAPANESE_PROSE).replace(
      "第四回 丁",
      "第二回中既已表明，此回暂不能写矣。\n\n第四回 丁",
    );
    expect(titles(text)).toHaveLength(4);
  });

  it.each([
    [
      "numbers with decimals in prose",
      `Version 1.1 was good.\n\n1.1 million people came. ${PROSE}\n\n1.2 million left.\n\n3.5 Inches\n\n${PROSE}`,
    ],
    [
      "a Chinese section in a sentence",
      `${PROSE}\n\n第 2.1.5 节 说明了。\n\n${PROSE}\n\n第 3 章 里面有说明。\n\n${PROSE}`,
    ],
    ["one number alone", `${PROSE}\n\nIV\n\n${PROSE}`],
    [
      "steps of a recipe",
      "1. Mix the flour.\n\n2. Add the milk.\n\n3. Wait an hour.\n\nEnjoy your meal, all of you.",
    ],
    [
      "numbered paragraphs of a law",
      `1. Short title.\n\n2. ${PROSE}\n\n3. Meaning of land.\n\n4. ${PROSE}\n\n5. ${PROSE}\n\n6. Repeal.\n\n${PROSE}`,
    ],
    ["figures", book(["Figure 1. A whale.", "Figure 2. A ship.", "Figure 3. A sea."])],
    [
      "speakers with numbers",
      book(["Speaker 1: Hello.", "Speaker 2: Hi.", "Speaker 1: Well.", "Speaker 2: Yes.", "Speaker 1: So."]),
    ],
    [
      "verses with numbers",
      "1\n\nMind precedes all.\n\n2\n\nMind is their chief.\n\n3\n\nHe abused me.\n\n4\n\nHatred ceases.",
    ],
  ])("is not found in %s", (_, text) => {
    expect(titles(text)).toEqual([null]);
  });
});

describe("a paragraph that announces the next", () => {
  const long = `${PROSE}${PROSE}`;

  it.each(["IV", "THE WHITENESS OF THE WHALE", "In which nothing happens", "THE END OF IT ALL!"])(
    "is never the last of a part: %s",
    (line) => {
      const text = Array.from({ length: 12 }, (_, index) => `${long}\n\n${line}\n\n${index} ${PROSE}`).join(
        "\n\n",
      );
      const { parts } = plan(text);
      expect(parts.length).toBeGreaterThan(8);
      for (const part of parts) expect(part.text.endsWith(line)).toBe(false);
    },
  );

  it("is not every line of a long list, which is cut between its lines", () => {
    const { parts } = plan(
      Array.from({ length: 400 }, (_, index) => `Item number ${index} of a long list of things`).join("\n\n"),
    );
    for (const { text } of parts) expect(text).toMatch(/^Item number \d+ of a long list of things\n/);
  });
});

it("the title of a narration is not a chapter's heading if there are several", () => {
  const chapters = book(["CHAPTER 43. Hark!", "CHAPTER 44. The Chart."]);
  expect(chooseNarrationTitle(plan(`MOBY-DICK\n\n${chapters}`))).toBe("MOBY-DICK");
  expect(chooseNarrationTitle(plan(chapters))).toBe(
    "Call me Ishmael, he said, and went on for a long while about the sea. Call me",
  );
  expect(chooseNarrationTitle(plan(`CHAPTER 43. Hark!\n\n${PROSE}`))).toBe("CHAPTER 43. Hark!");
});

it("the title of a narration is the heading above the first chapter's, without that one", () => {
  const text = `# The Keeper\n\n## Chapter 1: The Bell\n\n${PROSE}\n\n## Chapter 2: The Storm\n\n${PROSE}`;
  const keeper = planText({ text, format: "markdown", speed: 1, pauseSeconds: 0.6 });
  expect(chooseNarrationTitle(keeper)).toBe("The Keeper");
});

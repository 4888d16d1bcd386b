/** Chapter titles without a number, and lines that only look like chapter titles. */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";

const titles = (text: string, format: "plain" | "markdown" = "plain"): Array<string | null> =>
  planText({ text, format, speed: 1, pauseSeconds: 0.6 }).chapters.map(({ title }) => title);

const PROSE =
  "She went on for a long while about the river, and nobody\ninterrupted her until the evening. ".repeat(8);
const TEXT = `${PROSE}\n\n${PROSE}`;
const STORIES = ["The Sisters", "An Encounter", "Araby", "Eveline"];

const collection = (names: readonly string[], blankLines: number): string =>
  names.map((name) => `${"\n".repeat(blankLines + 1)}${name}\n\n${TEXT}`).join("");

describe("titles without a number", () => {
  it.each([
    ["as lines", STORIES.join("\n")],
    ["as paragraphs", STORIES.join("\n\n")],
    ["with pages", STORIES.map((name, index) => `${name} . . . . . ${index * 12 + 1}`).join("\n")],
    ["with numbers", STORIES.map((name, index) => `${index + 1}. ${name}`).join("\n")],
    ["with Roman numbers", STORIES.map((name, index) => `${"I".repeat(index + 1)} ${name}`).join("\n")],
    ["with bullets", STORIES.map((name) => `     * ${name}`).join("\n")],
  ])("are found if the contents list them %s", (_, contents) => {
    expect(titles(`Contents\n\n${contents}\n${collection(STORIES, 1)}`)).toEqual([null, ...STORIES]);
  });

  it("are found in capitals below the contents, one of which is misspelt there", () => {
    const stories = STORIES.map((name) => name.toUpperCase());
    const contents = STORIES.join("\n\n").replace("Encounter", "Encuonter");
    expect(titles(`Contents\n\n${contents}\n${collection(stories, 3)}`)).toEqual([null, ...stories]);
  });

  it("are found in Markdown without headings", () => {
    const text = `**Contents**\n\n${STORIES.join("\n\n")}\n${collection(STORIES, 1)}`.replace(
      "river",
      "*river*",
    );
    expect(titles(text, "markdown")).toEqual([null, ...STORIES]);
  });

  it("are found in Spanish and Chinese", () => {
    const spanish = ["La casa", "El río", "La noche"];
    expect(titles(`ÍNDICE\n\n${spanish.join("\n")}\n${collection(spanish, 1)}`)).toEqual([null, ...spanish]);
    const chinese = ["狂人日记", "孔乙己", "药"];
    const text = "我家的房东，说是因为天气的缘故，今天没有出门。".repeat(30);
    const stories = chinese.map((name) => `${name}\n\n${text}`).join("\n\n");
    expect(titles(`目录\n\n${chinese.join("\n")}\n\n${stories}`)).toEqual([null, ...chinese]);
  });

  it.each([
    ["in capitals below two blank lines", ["THE SON", "THE FERRYMAN", "OM"], 2],
    ["below three blank lines", ["The Son", "The Ferryman", "Om"], 3],
  ])("are found %s", (_, names, blankLines) => {
    expect(titles(`SIDDHARTHA\n\nby somebody${collection(names, blankLines)}`)).toEqual([null, ...names]);
  });

  it("are found among chapters with numbers if the contents list them", () => {
    const contents = "The Custom-House\n\nI. The Prison Door\n\nII. The Market-Place";
    const chapters = collection(
      ["THE CUSTOM-HOUSE", "I.\n\nTHE PRISON DOOR", "II.\n\nTHE MARKET-PLACE", "III.\n\nPEARL"],
      3,
    );
    expect(titles(`Contents\n\n${contents}\n\nIII. Pearl\n${chapters}`)).toEqual([
      null,
      "THE CUSTOM-HOUSE",
      "I. THE PRISON DOOR",
      "II. THE MARKET-PLACE",
      "III. PEARL",
    ]);
  });

  it("lose the marks of bold type around them", () => {
    const names = ["#EL SOLITARIO#", "=LA GALLINA=", "#EL ALMOHADON#"];
    expect(titles(collection(names, 3))).toEqual(["EL SOLITARIO", "LA GALLINA", "EL ALMOHADON"]);
  });

  it("are below the parts of a book", () => {
    const part = (name: string, names: readonly string[]) => `\n\n\n\n${name}\n${collection(names, 4)}`;
    expect(
      titles(part("FIRST PART", ["THE SON", "OM"]) + part("SECOND PART", ["KAMALA", "SANSARA"])),
    ).toEqual(["FIRST PART: THE SON", "OM", "SECOND PART: KAMALA", "SANSARA"]);
  });

  it.each([
    ["notices in capitals between paragraphs", collection(["NO ENTRY", "BEWARE OF THE DOG", "KEEP OUT"], 1)],
    ["two of them", collection(["THE SON", "OM"], 4)],
    ["beginnings of sentences", collection(["He came home,", "She waited:", "They ate,"], 4)],
    ["the last line of each story", collection(["THE END", "THE END.", "FINIS"], 4)],
    ["few words", ["Milk", "Flour", "Eggs", "Salt"].map((line) => `${line}\n\nAn ounce.`).join("\n\n\n\n")],
    ["contents that no line repeats", `Contents\n\nMilk\nFlour\nEggs\n\n${TEXT}\n\n${TEXT}`],
    ["a word for contents in prose", `The contents\n\n${TEXT}\n\nMilk\n\n${TEXT}\n\nEggs\n\n${TEXT}`],
    [
      "chapters with numbers",
      collection(["CHAPTER 1", "CHAPTER 2", "CHAPTER 3"], 4).replace(
        "CHAPTER 2\n",
        "CHAPTER 2\n\n\n\nTHE LETTER\n",
      ),
    ],
  ])("are not found in %s", (name, text) => {
    const none = name === "chapters with numbers" ? ["CHAPTER 1", "CHAPTER 2", "CHAPTER 3"] : [null];
    expect(titles(text)).toEqual(none);
  });
});

/** The remarks of a plan before anything is paid, and the texts that cause none. */
import { expect, it } from "vitest";
import { buildEdgesRemark, buildPlanRemarks } from "../../src/narration/planning/plan-remarks.ts";
import { planText } from "../../src/narration/text/plan-text.ts";

const EN = "It was the best of times and the worst of times, and they had been there with her.";
const ES = "El coche de los padres era muy grande, pero ella no lo había visto hasta una noche.";
const remarks = (text: string, voice?: string): string[] =>
  buildPlanRemarks(
    planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6, speakers: { Anna: "felix_zh" } }),
    voice,
  ).map(({ sentence }) => sentence);

it.each([
  [
    "a voice of another language",
    ES,
    "stokie_en",
    "The text seems to be in Spanish, which the voice stokie_en does not speak.",
  ],
  [
    "a voice of another script",
    "今日はいい天気です。散歩しましょう。",
    "sophie_en_zh",
    "The text seems to be in Japanese, which the voice sophie_en_zh does not speak.",
  ],
  [
    "a script of no voice",
    "Сегодня хорошая погода.",
    undefined,
    "The text seems to be in a language in Cyrillic letters, which no voice of the service speaks.",
  ],
  [
    "a language of no voice",
    "Der Hund und die Katze, das ist nicht zu sehen, und er war für sie da.",
    undefined,
    "The text seems to be in German, which no voice of the service speaks.",
  ],
])("a plan names %s", (_, text, voice, remark) => {
  expect(remarks(text, voice)).toEqual([remark]);
});

it.each([
  ["one chapter", `Chapter 1\n\n${EN}`, undefined],
  ["a voice that speaks the language", ES, "tracy_es_zh"],
  ["a service's own choice", ES, undefined],
  ["words that do not decide", "Taxi, hotel, radio.", "felix_zh"],
  ["a foreign name in a text", `${EN} Толстой.`, "stokie_en"],
])("a plan does not report %s", (_, text, voice) => {
  expect(remarks(text, voice)).toEqual([]);
});

it("a plan says how much is spoken before the first chapter, and how to leave it out", () => {
  const chapters = [1, 2, 3].map((number) => `CHAPTER ${number}\n\n${EN.repeat(20)}`).join("\n\n");
  const front = `${EN} `.repeat(30);
  expect(remarks(`${front}\n\n${chapters}`)).toEqual([
    'Before the first chapter, about 3 min are spoken, such as a title page or a table of contents; chapters "1-last" leaves them out.',
  ]);
  expect(remarks(`The title\n\n${chapters}`)).toEqual([]);
});

it("a plan says how much each speaker speaks", () => {
  expect(remarks("Anna: 你好，你今天怎么样？\n\nIt was late.", "stokie_en").at(-1)).toMatch(
    /^Spoken by (?:felix_zh|stokie_en) \d+ %, (?:felix_zh|stokie_en) \d+ %\.$/,
  );
});

it("a plan says once that no voice speaks the language, however many speak the text", () => {
  const german = "Es war die beste aller Zeiten, und sie war nicht mit ihm auf dem Weg, als es Nacht wurde.";
  const said = remarks(`Anna: ${german}\n\nDie anderen: ${german} ${german}`, "stokie_en");
  expect(said.filter((sentence) => sentence.includes("no voice of the service"))).toHaveLength(1);
});

it("a plan says how the text begins and ends", () => {
  const edges = (text: string): string =>
    buildEdgesRemark(planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6 })).sentence;
  expect(edges("It was late.")).toBe('It begins "It was late." and ends "It was late.".');
  expect(edges(`${EN}\n\nThey walked on through the long night, and in the morning the sea was there.`)).toBe(
    'It begins "It was the best of times and the worst of times, and they ha…" and ends "…the long night, and in the morning the sea was there.".',
  );
});

/** Which lines are paragraphs, which line breaks are deliberate, and which only wrap a text at the width of a page. */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";

const spokenTextOf = (text: string): string[] =>
  planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6 }).parts.flatMap((part) =>
    part.text.split("\n\n"),
  );

const FILLED =
  "The road was long and the night was clear, and for a while the only\nsound was that of their steps on the gravel, until someone laughed and\nran away.";

it.each([
  [
    "indented by a wide space",
    "　私は先生と呼んでいた。\n「はい。」\n　それから帰った。",
    ["私は先生と呼んでいた。", "「はい。」", "それから帰った。"],
  ],
  [
    "indented by spaces, in Chinese",
    "第一回 西门庆热结十弟兄\n    话说清河县有一人。\n    那时正是冬天。\n\n    武大卖炊饼。",
    ["第一回 西门庆热结十弟兄", "话说清河县有一人。", "那时正是冬天。", "武大卖炊饼。"],
  ],
  ["dense sentences", "It rained.\nNobody came!\nWe left.\n", ["It rained.", "Nobody came!", "We left."]],
])("lines that are paragraphs are read as such: %s", (_, text, paragraphs) => {
  expect(spokenTextOf(text)).toEqual(paragraphs);
});

it("lines that are paragraphs are not found in text that was wrapped at a width", () => {
  expect(spokenTextOf(FILLED)).toEqual([FILLED.replaceAll("\n", " ")]);
  const portuguese =
    "Foi então que, depois de muito andar, viram\no velho moinho, e junto dele, no escuro,\no moleiro, que esperava por eles com todo\no trigo da colheita.";
  expect(spokenTextOf(portuguese)).toEqual([portuguese.replaceAll("\n", " ")]);
  expect(
    spokenTextOf(
      "　　\n    第一行到了这里就没有\n    地方了所以第二行接着\n    写下去，一直到最后。\n\n后来。",
    ),
  ).toEqual(["第一行到了这里就没有地方了所以第二行接着写下去，一直到最后。", "后来。"]);
  expect(spokenTextOf("第一行，\n第二行\n第三行。")).toEqual(["第一行，第二行第三行。"]);
});

it.each([
  [
    "verse",
    "Let me not to the marriage of true minds\nAdmit impediments. Love is not love\nWhich alters when it alteration finds,\nOr bends with the remover to remove:",
  ],
  [
    "a cast",
    "ESCALUS, Prince of Verona.\nMERCUTIO, kinsman to the Prince, and friend to Romeo.\nPARIS, a young Nobleman.\nPage to Paris.",
  ],
  ["a list of a typewriter", "o two eggs\no flour\no a bowl"],
  ["a name list", "AUTHORS - who wrote it\nBUGS - what is wrong with it\nINSTALL - how it is installed"],
  ["a list", "You need:\n- two eggs\n- flour\n- a bowl"],
  ["a list with section numbers", "1.1. Programas necesarios\n1.2. Documentos\n1.2.1. Dónde pedir ayuda"],
  ["a list with numbers", "1. Mix the flour.\n2. Add milk.\n3. Wait."],
  [
    "a list inside of a list",
    "The board may decide, by a vote of its members:\n1. on money;\n2. on people, which are:\n1. its members;\n2. its guests;\n3. on nothing else.",
  ],
  [
    "a list with numbers that have no mark",
    "1 About this\n1.1 Its name\n2 Getting help\n10 The end of the whole list of them",
  ],
  [
    "a Chinese poem",
    "送别\n作者：王维\n下马饮君酒，问君何所之。\n君言不得意，归卧南山陲。\n但去莫复问，白云无尽时。",
  ],
])("deliberate line breaks stay: %s", (_, lines) => {
  expect(spokenTextOf(`${FILLED}\n\n${lines}\n\n${FILLED}`)[1]).toBe(lines);
});

it.each([
  ["prose", FILLED],
  ["an item of several lines", "- two eggs,\n  well beaten\n- flour"],
  ["a year that begins a line", "It was in the cold of\n1984. The clocks were striking\nthirteen that day."],
  [
    "German, which writes nouns large",
    "Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte, fand er\nsich in seinem Bett zu einem ungeheueren Ungeziefer verwandelt. Er lag\nauf seinem Rücken.",
  ],
  ["an item that goes on in capitals", "He said:\n\n  - We built the Statue of\n    Liberty in a week."],
  [
    "two indented lines that were filled",
    `      Tools for files and for searching in them, and burning of a\n      CD/DVD, and so on.`,
  ],
  [
    "Japanese with words of Latin letters",
    "dist-upgrade は完全なアップグレードを行い、Debian\nの単純化をします。洗練されたアルゴリズムを使って、\nアップグレード、削除する最善の群を決定します。状況に\nよっては dselect で作業により時間を掛けて依存を解決し\nます。",
  ],
])("deliberate line breaks are not found in %s", (_, text) => {
  expect(spokenTextOf(`${text}\n\n${FILLED}`)[0]?.split("\n").length).toBeLessThan(text.split("\n").length);
});

describe("lines in capitals above deeper blocks", () => {
  const page = (...names: string[]): string =>
    names.map((name) => `${name}\n       It lists files, and\n       so on.`).join("\n\n");

  it("are separate paragraphs if they recur, as in a manual", () => {
    expect(spokenTextOf(page("NAME", "DESCRIPTION", "SEE ALSO")).slice(0, 2)).toEqual([
      "NAME",
      "It lists files, and so on.",
    ]);
    expect(spokenTextOf(page("名前", "書式", "説明"))[0]).toBe("名前");
  });

  it.each([
    ["one of them", page("NAME")],
    ["other lines", page("Name of it", "Then this", "And that")],
    [
      "Japanese that hangs",
      ["一", "二", "三"]
        .map((n) => `注${n} 依存システムの理解はまず単純な依存の概念を\n    It lists files から始まります。`)
        .join("\n\n"),
    ],
  ])("are not found in %s", (_, text) => {
    expect(spokenTextOf(text)[0]).toContain("It lists files");
  });
});

it("emphasis loses its underscores at any length", () => {
  const long = "word ".repeat(200).trim();
  expect(spokenTextOf(`It is _${long}_ and snake_case.`)[0]).toBe(`It is ${long} and snake_case.`);
});

it.each([
  ["loses its asterisks", "It *is* **so**, *she said*.", "It is so, she said."],
  ["is no product", "It is 2*3*4 and 5 * 6 * 7.", "It is 2*3*4 and 5 * 6 * 7."],
  ["is no mark of a note", "The gate* leaked.\n\n*The first one.", "The gate* leaked."],
])("emphasis %s", (_, text, words) => {
  expect(spokenTextOf(text)[0]?.split("\n\n")[0]).toBe(words);
});

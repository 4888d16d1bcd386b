/** Text that is not spoken because it is for the eye or for programs, and spoken text that only resembles it. */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan } from "../../../src/narration/text/plan-types.ts";
import type { UnspokenKind } from "../../../src/narration/text/unspoken-kinds.ts";

const plan = (text: string): NarrationPlan =>
  planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6 });
const spokenTextOf = (text: string): string =>
  plan(text)
    .parts.map((part) => part.text)
    .join("\n\n");

const BOOK = `The Project Gutenberg eBook of Moby Dick; Or, The Whale

Title: Moby Dick; Or, The Whale

Author: Herman Melville

*** START OF THE PROJECT GUTENBERG EBOOK MOBY DICK; OR, THE
WHALE ***

Produced by Daniel Lazarus and Jonesey

Call me Ishmael.

End of Project Gutenberg's Moby Dick

*** END OF THE PROJECT GUTENBERG EBOOK MOBY DICK; OR, THE WHALE ***

Updated editions will replace the previous one. Project Gutenberg is a trademark.

Section 1. General Terms of Use
`;

const AOZORA = `こころ
夏目漱石

-------------------------------------------------------
【テキスト中に現れる記号について】

《》：ルビ
（例）私《わたくし》
-------------------------------------------------------

［＃２字下げ］上　先生と私［＃「上　先生と私」は大見出し］

［＃５字下げ］一［＃「一」は中見出し］

　私《わたくし》は※［＃「てへん＋劣」、第3水準1-84-77］その人を常に先生と呼んでいた。
　先生一人｜麦藁帽《むぎわらぼう》を被《かぶ》っていた。

底本：「こころ」集英社文庫
`;

const SRT = `1
00:00:01,000 --> 00:00:02,500
Hello there, I am

2
00:00:02,600 --> 00:00:04,000
<i>very</i> happy.

3
00:00:09,000 --> 00:00:10,000
Goodbye.
`;

const NAMES = ["", "Ann", "Bob", "Carl", ...Array.from({ length: 7 }, () => ""), "Dora", "Emil", "Frieda"];

const rfc = (page: number): string =>
  `${NAMES[page]} goes on and\n\nPostel                          [Page ${page}]\n\f\nRFC 791                    September 1981\n\nends with ${NAMES[page]}.`;

const novelPage = (page: number): string =>
  `${NAMES[page]} walked along the road until the\n\n${page}\n\nsun went down. It was late.`;

const CASES: ReadonlyArray<
  readonly [what: string, text: string, words: string, kinds: readonly UnspokenKind[]]
> = [
  ["the frame of Project Gutenberg", BOOK, "Call me Ishmael.", ["ebook_frame"]],
  [
    "notation of Aozora Bunko",
    AOZORA,
    "こころ\n\n夏目漱石\n\n上 先生と私\n\n一\n\n私はその人を常に先生と呼んでいた。\n\n先生一人麦藁帽を被っていた。",
    ["ebook_frame", "ruby", "note"],
  ],
  ["subtitles", SRT, "Hello there, I am very happy.\n\nGoodbye.", ["time_code"]],
  [
    "WebVTT",
    "WEBVTT\n\nNOTE made by hand\n\n00:01.000 --> 00:02.000\n<v Ann>Well.\n\n00:02.100 --> 00:03.000\nYes.\n",
    "Well. Yes.",
    ["time_code"],
  ],
  [
    "footers and heads of pages",
    [1, 2, 3].map(rfc).join("\n\n"),
    [1, 2, 3].map((page) => `${NAMES[page]} goes on and ends with ${NAMES[page]}.`).join("\n\n"),
    ["page_mark"],
  ],
  [
    "bare page numbers inside of sentences",
    [11, 12, 13].map(novelPage).join("\n\n"),
    [11, 12, 13]
      .map((page) => `${NAMES[page]} walked along the road until the sun went down. It was late.`)
      .join("\n\n"),
    ["page_mark"],
  ],
  [
    "bare page numbers above their running heads",
    [11, 12, 13]
      .map((page) => `${NAMES[page]} went on\n\n${page}\n\nThe Long River\n\nto the gate.`)
      .join("\n\n"),
    [11, 12, 13].map((page) => `${NAMES[page]} went on to the gate.`).join("\n\n"),
    ["page_mark"],
  ],
  [
    "subtitles above a text",
    "1\n00:00:01,000 --> 00:00:02,000\nHello\n2\n00:00:02,000 --> 00:00:03,000\nthere.\n\nThe film ends.",
    "Hello there.\n\nThe film ends.",
    ["time_code"],
  ],
  ["page numbers between dashes", "One\n- 4 -\ntwo.\n\n- 5 -\n\nThree.", "One two.\n\nThree.", ["page_mark"]],
  [
    "the frame of a table",
    "+-----+-----+\n| Ann | 3   |\n+-----+-----+\n| Bob | 4   |\n+-----+-----+",
    "Ann, 3\nBob, 4",
    ["table_frame"],
  ],
  [
    "strokes between rows of several lines",
    "+----+-----+\n|パッ|Size |\n|ケ  |     |\n|----+-----|\n|Ann |three|\n|    |or 4 |\n|----+-----|\n|Bob |five |\n+----+-----+",
    "パッケ, Size\nAnn, three or 4\nBob, five",
    ["table_frame"],
  ],
  [
    "the ruler of a table",
    "||/ Name      Version   Description\n+++-=========-=========-===========\nii  adduser   3.134     add users\nii  apt       2.6.1     package manager",
    "Name, Version, Description\nii, adduser, 3.134, add users\nii, apt, 2.6.1, package manager",
    ["table_frame"],
  ],
  ["rulers around a table", "===  ===\nA    B\n===  ===\n1    2\n===  ===", "A, B\n1, 2", ["table_frame"]],
  [
    "the head and the foot of a manual page",
    "LS(1)        User Commands        LS(1)\n\nIt lists files.\n\nGNU         2023         LS(1)",
    "It lists files.",
    ["page_mark"],
  ],
  [
    "keywords of version control",
    "$NetBSD: README,v 1.2 1995/03/24 cgd Exp $\n\nIt costs $5.\n\nLast change: $Date$",
    "It costs $5.\n\nLast change:",
    ["template"],
  ],
  [
    "numbers of notes that a text browser writes",
    "It fell^[1]. It rose^[2].\n\n^[1] Down.\n\n^[2] Up.",
    "It fell. It rose.\n\nDown.\n\nUp.",
    ["reference"],
  ],
  ["colours of a terminal", "\x1b[32mGreen\x1b[m and \x1b[1;31mred\x1b[0m.", "Green and red.", []],
  ["dot leaders", "Coffee ........ 3.50\nTea . . . . . . 2.75", "Coffee, 3.50\nTea, 2.75", ["leader"]],
  [
    "illustrations",
    "One. [Illustration: A _whale_, by R. Kent.]\n\n[Illustration]\n\nTwo.",
    "One.\n\nTwo.",
    ["illustration"],
  ],
  ["pages of the original", "It was [Pg 12] late.", "It was late.", ["page_mark"]],
  [
    "times of a transcript",
    "[00:01] Hello.\n\n[01:46:20] Goodbye. [Music]",
    "Hello.\n\nGoodbye.",
    ["time_code", "sound"],
  ],
  [
    "numbers of notes",
    "It fell.[1] It rose,[2] and stood.{1} Then {it}.[3]",
    "It fell. It rose, and stood. Then {it}.",
    ["reference"],
  ],
  ["letters of notes", "A city[A] on a hill.[B]", "A city on a hill.", ["reference"]],
  [
    "transitions of a script",
    "**FADE IN:**\n\nA road.\n\nCUT TO:\n\n> THE END <",
    "A road.",
    ["script_mark"],
  ],
];

describe("page marks", () => {
  it.each(CASES)("is omitted and reported: %s", (_, text, words, kinds) => {
    expect(spokenTextOf(text)).toBe(words);
    expect(plan(text).unspoken.map(({ kind }) => kind)).toEqual(kinds);
  });

  it("is counted once, as a number or as a running head", () => {
    const text = [11, 12, 13]
      .map((page) => `${NAMES[page]} went on\n\n${page} THE LONG RIVER\n\nto gate ${page}.`)
      .join("\n\n");
    expect(plan(text).unspoken).toMatchObject([{ kind: "page_mark", count: 3 }]);
  });

  it("gives the title and the author of the header, and the headings of the notes", () => {
    expect(plan(BOOK)).toMatchObject({ title: "Moby Dick; Or, The Whale", author: "Herman Melville" });
    expect(plan(AOZORA).chapters.map(({ title }) => title)).toEqual([null, "上 先生と私: 一"]);
  });

  it("is omitted from Markdown, too", () => {
    const { parts, unspoken } = planText({
      text: "# T\n\n**FADE IN:**\n\nOne.[1] Two.[2]\n\n[Music]",
      format: "markdown",
      speed: 1,
      pauseSeconds: 0.6,
    });
    expect(parts.map(({ text }) => text)).toEqual(["T\n\nOne. Two."]);
    expect(unspoken.map(({ kind }) => kind)).toEqual(["script_mark", "sound", "reference"]);
  });
});

it.each([
  [
    "a sentence about the marker",
    "Look for *** START OF THE PROJECT GUTENBERG EBOOK in Project Gutenberg's file.",
  ],
  ["a title in 《》", "他读《红楼梦》和《西游记》。映画《さくら》を見た。"],
  ["an arrow", "Go north --> then east."],
  ["numbers that are counted", "He counted:\n\n12\n\n13\n\n14\n\nand then he slept."],
  [
    "numbers that are chapters",
    "Intro ends.\n\n1\n\nIt began. He left.\n\n2\n\nIt went on.\n\n3\n\nIt ended.",
  ],
  ["a pause of four dots", "Wait.... what was that?"],
  ["an index in code", "Take list[0] and list[7] of it."],
  ["the first index in code", "Take list[0] of it."],
  ["a source behind a sentence", "Beethoven wrote that one himself. (Music)"],
  ["prices and variables", "It costs $5: cheap. Set $HOME: to a $Date of $6 $."],
  ["a keyword inside of a sentence", "Write $Date$ into the file."],
  ["the name of a manual page", "See LS(1) and then  LS(1)"],
  ["a colour without its control character", "Take [32m of it."],
  ["a word in brackets", "He said [the old man] would come."],
  ["a time of the day", "Come at 10:30 or (11:45)."],
  ["a single dash and a number", "The sum is\n- 12 -\nor so."],
  ["a line of dashes and words", "one -- two -- three"],
  ["words like the mark of a picture", "He saw [an illustration of it] there."],
  ["words like a transition", "We fade in: slowly, and cut to the road."],
  ["a quotation of mail", "> He wrote this.\n> And this."],
])("text that only resembles page marks is spoken: %s", (_, text) => {
  expect(spokenTextOf(text).replace(/\s+/g, " ")).toBe(text.replace(/\s+/g, " "));
  expect(plan(text).unspoken).toEqual([]);
});

describe("columns", () => {
  it("are rows with commas if a gap ends at the same column in each line", () => {
    expect(spokenTextOf("Name       Age\nAnn        3\nBob        41")).toBe("Name, Age\nAnn, 3\nBob, 41");
    expect(spokenTextOf("A bee,     Its cell\nAn hour,   The wax\nA day,     The end")).toBe(
      "A bee, Its cell\nAn hour, The wax\nA day, The end",
    );
    expect(spokenTextOf("|1|\tThe file\n|2|\tThe option\n|3|\tThe map")).toBe(
      "|1|, The file\n|2|, The option\n|3|, The map",
    );
  });

  it.each([
    [
      "justified text",
      "This  is  a  line of words which was\nfilled to a  width  with  more  space\nthan it  had,  and  then it was over.",
    ],
    ["two spaces behind sentences", "He left.  She stayed.\nIt rained.  They ran.\nI slept.  You woke."],
    ["two lines", "Ann        3\nBob        41"],
    ["a list", "1.        One thing\n2.        Two things\n3.        Three things"],
  ])("are not found in %s", (_, text) => {
    expect(spokenTextOf(text)).not.toContain(", One");
    expect(spokenTextOf(text).replace(/\s+/g, " ")).toBe(text.replace(/\s+/g, " "));
  });

  it("are not found in a line of dashes between paragraphs", () => {
    expect(plan("Two  spaces.\n\n=== ===\n\nTwo.").unspoken).toMatchObject([{ kind: "no_words" }]);
  });
});

it("headings in capitals whose numbers count from 1 are spoken, and are not running heads", () => {
  const text = [1, 2, 3, 4]
    .map((number) => `RESUMEN DE LA LECCIÓN ${number}\n\nEl cursor se mueve.`)
    .join("\n\n");
  const { parts, unspoken } = plan(text);
  expect(parts.map((part) => part.text).join("\n\n")).toBe(text);
  expect(unspoken).toEqual([]);
});

it.each([
  "[",
  "[Illustration: ",
  "《",
  "［＃",
  "漢《",
  "00:01.000 --> 00:02.000\n",
  "- 1 -\n",
  "1\n\n",
  "[Page 1]\n",
  "|a|\n",
  "+--",
  ". ",
  "a ..... 1\n",
  "a[1]",
  "> a <\n\n",
  "==\n",
  "A\n---\n\n",
  "A B 1\n",
  "a  b\n",
  "a\tb\n",
  "-- --\n",
  "$Id: a ",
  "$A: ",
  "LS(1)  a  LS(1)\n",
  "NAME\n  a\n\n",
  "*",
  "1.1) A\n\n",
  "*** START OF THIS PROJECT GUTENBERG EBOOK\n",
])("page marks without end is planned quickly: 200,000 characters of %j", { timeout: 120_000 }, (mark) => {
  const startCpuUsage = process.cpuUsage();
  try {
    plan(`Words.\n\n${mark.repeat(200_000 / mark.length)}\n\nWords.`);
  } catch (error) {
    // Planning may also end with a quick refusal: one of these texts has 28,000 headings, which are too many.
    expect(String(error)).toContain("more than 20000 headings");
  }
  const { user, system } = process.cpuUsage(startCpuUsage);
  expect((user + system) / 1000).toBeLessThan(2_000);
});

it("the pages of contents with leaders are no numbers of lines of verse", () => {
  const contents = Array.from(
    { length: 15 },
    (_, n) => `${n + 1}. Gate ${"AB"[n % 2]}${".".repeat(20)}${n + 1}`,
  );
  expect(plan(`${contents.join("\n")}\n\nIt leaked.`).unspoken.map(({ kind }) => kind)).toEqual(["leader"]);
});

it("an address with parentheses is shortened as a whole", () => {
  const text = "See https://ja.wikipedia.org/wiki/A_(%E5%93%B2) and (https://a.example/b).";
  expect(spokenTextOf(text)).toBe("See ja.wikipedia.org and (a.example).");
});

describe("numbers of lines of verse", () => {
  const verse = (ends: (line: number) => string): string =>
    Array.from({ length: 30 }, (_, n) => `The river ran,${ends(n + 1)}`).join("\n");
  it.each<readonly [what: string, ends: (line: number) => string]>([
    ["every fifth", (line) => (line % 5 === 0 ? `      ${line}` : "")],
    ["every tenth, from a later line", (line) => (line % 10 === 5 ? ` ${line + 105}` : "")],
  ])("are not spoken: %s", (_, ends) => {
    expect(spokenTextOf(verse(ends))).not.toMatch(/\d/);
  });

  it.each<readonly [what: string, ends: (line: number) => string]>([
    ["prices", (line) => (line % 5 === 0 ? ` $${line}` : "")],
    ["numbers of each line", (line) => ` and ${5 * line}`],
    ["two numbers", (line) => (line === 5 || line === 10 ? ` ${line}` : "")],
  ])("are not %s", (_, ends) => {
    expect(spokenTextOf(verse(ends))).toContain(`The river ran,${ends(5)}`);
  });
});

describe("lines above a text", () => {
  it.each([
    ['"The Lock" and Others', '"The Lock" and Others'],
    ["The Lock [a tale]", "The Lock [a tale]"],
    ["'The Lock',", "The Lock"],
    ["\"It's the 'Lock'\"", "It's the 'Lock'"],
    ["*The Lock*", "The Lock"],
  ])("name the book without the marks around its title: %s", (written, title) => {
    expect(plan(`Title: ${written}\nAuthor: A\n\nIt leaked.`).title).toBe(title);
  });

  it.each<readonly [what: string, text: string, author: string]>([
    ["fields", "Author: Ada Writer\nTitle: The Lock\n\nIt leaked.", "Ada Writer"],
    [
      "fields apart",
      "Title: The Lock\n\nAuthor: Ada Writer\n\nRelease Date: May 1\n\nIt leaked.",
      "Ada Writer",
    ],
    [
      "a title page that is indented",
      "    Title: The Lock\n    Author: Ada Writer\n    Draft date: May 1\n\nIt leaked.",
      "Ada Writer",
    ],
    [
      "a title page of Fountain",
      "Title:\n    _**The Lock**_\nCredit: Written by\nAuthor: Ada Writer\nContact:\n\tRiver 1\n\nIt leaked.",
      "Ada Writer",
    ],
    ["a block of pandoc", "% The\n  Lock\n% Ada Writer; Ben Second\n\nIt leaked.", "Ada Writer, Ben Second"],
    [
      "front matter with a list",
      "---\ntitle: The Lock\nauthor:\n  - Ada Writer\n  - Ben Second\n---\n\nIt leaked.",
      "Ada Writer, Ben Second",
    ],
    [
      "front matter with names",
      "---\nauthor:\n- name: Ada Writer\n  email: a@b.c\ntitle: The Lock\n---\n\nIt leaked.",
      "Ada Writer",
    ],
    [
      "front matter in one line",
      '+++\ntitle = "The Lock"\nauthors = ["Ada Writer", "Ben Second"]\n+++\n\nIt leaked.',
      "Ada Writer, Ben Second",
    ],
  ])("name the book and are not spoken: %s", (_, text, author) => {
    const {
      title,
      author: found,
      parts,
    } = planText({ text, format: "markdown", speed: 1, pauseSeconds: 0.6 });
    expect([title, found, ...parts.map((part) => part.text)]).toEqual(["The Lock", author, "It leaked."]);
  });

  it.each([
    ["a dialogue", "Author: I wrote this.\n\nMira: You did not."],
    ["a sentence of a text", "Title: The Lock is a book that I wrote\nwhen it leaked."],
    ["a line of percent signs", "% of the gates leak.\n\nThey do."],
    ["a field below the text", "It leaked.\n\nTitle: The Lock"],
  ])("are spoken if they are %s", (_, text) => {
    const { title, parts } = plan(text);
    expect(title).toBeUndefined();
    expect(
      parts
        .map((part) => part.text)
        .join(" ")
        .replace(/\s+/g, " "),
    ).toBe(text.replace(/\s+/g, " "));
  });
});

it("the last paragraph of Project Gutenberg is not spoken, on how many lines ever, and its first line names the book", () => {
  const text =
    `${BOOK.replace(/Title[\s\S]*?Melville\n/, "").replace("The Whale\n", "The Whale, by Herman Melville\n")}`.replace(
      "End of Project Gutenberg's Moby Dick\n",
      "End of the Project Gutenberg EBook of Moby Dick; Or,\nThe Whale, by Herman Melville\n",
    );
  const { title, author, parts } = plan(text);
  expect([title, author, ...parts.map((part) => part.text)]).toEqual([
    "Moby Dick; Or, The Whale",
    "Herman Melville",
    "Call me Ishmael.",
  ]);
});

it.each([
  ["彼は憂鬱（ゆううつ）だ。", "彼は憂鬱だ。"],
  ["食べる(たべる)と悲しみ（かなしみ）。", "食べると悲しみ。"],
  ["他很憂鬱（yōuyù），在西安（Xī'ān）。", "他很憂鬱，在西安。"],
  ["饕餮（ㄊㄠ ㄊㄧㄝˋ）。", "饕餮。"],
  ["犬（いぬ科の動物）と林檎（apple）。", null],
  ["日本人（ではない）が来た（らしい）。三人（まで）。", null],
  ["水門（ゲート）に行（く）。", null],
  ["北京（Beijing）和水门（gate）。", null],
])("a reading behind its word is spoken once, and any other gloss is kept: %s", (text, spoken) => {
  expect(spokenTextOf(text)).toBe(spoken ?? text);
});

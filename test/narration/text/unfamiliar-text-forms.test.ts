/**
 * Forms of text that readers outside this project found in texts that were new to it. The tests of each form include
 * text that only resembles the form.
 */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan, SpeakersByName } from "../../../src/narration/text/plan-types.ts";

const plan = (text: string, voices: SpeakersByName = {}): NarrationPlan =>
  planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6, speakers: voices });
const spoken = (text: string, voices: SpeakersByName = {}): string =>
  plan(text, voices)
    .parts.map((part) => part.text)
    .join("\n\n");

it.each([
  ["by the hyphen of manual pages", "It is inter\u2010\nactive work.", "It is interactive work."],
  ["by a soft hyphen", "It is inter\u00ad\n  active work.", "It is interactive work."],
  ["and writes whole elsewhere", "Interactive work is inter-\nactive.", "Interactive work is interactive."],
])("a word divided at the end of a line %s is joined", (_, text, words) => {
  expect(spoken(text)).toBe(words);
});

it.each([
  ["its own hyphen", "A well-\nknown house.", "A well-known house."],
  ["its own hyphen elsewhere", "Multi\u2010line and multi\u2010\nline.", "Multi‐line and multi-line."],
  ["a series", "Die Haupt-\nund Nebenstraßen.", "Die Haupt- und Nebenstraßen."],
  ["a dash", "He came -\nand went.", "He came - and went."],
  ["a name", "Jean-\nPaul came.", "Jean- Paul came."],
])("a word divided at the end of a line keeps %s", (_, text, words) => {
  expect(spoken(text)).toBe(words);
});

describe("a text of verse", () => {
  const stanza = (n: number): string =>
    `Rain on the hill ${n},\nWind in the trees,\nStars above,\nLeaves below,`;
  const verses = [1, 2, 3, 4, 5].map(stanza);
  const LONG =
    "Of physiology from top to toe I sing,\nNot physiognomy alone nor brain alone is worthy for the Muse, I say\n    the Form complete is worthier far,\nThe Female equally with the Male I sing.";

  it("keeps the lines of a stanza that looks like prose, and joins a wrapped line", () => {
    expect(spoken([...verses, LONG].join("\n\n"))).toContain(
      "I sing,\nNot physiognomy alone nor brain alone is worthy for the Muse, I say the Form complete is worthier far,\nThe Female",
    );
  });

  it("joins the lines of prose between the stanzas", () => {
    const prose =
      "These songs were found in a chest at the\nharbour by a man who had no use for\nthem, and gave them away.";
    expect(spoken([...verses, prose].join("\n\n"))).toContain("in a chest at the harbour by a man who");
  });

  it("needs more than a single poem", () => {
    expect(spoken([stanza(1), LONG].join("\n\n"))).toContain("I sing, Not physiognomy");
  });
});

it("two ellipses are kept in Chinese", () => {
  const text = "“后来呢……后来这么长。”\n\n他说……好的。";
  expect(plan(text).unspoken).toEqual([]);
  expect(spoken(text)).toContain("后来呢……后来这么长");
});

it("two ellipses before a number are a reference to a page", () => {
  expect(plan("第一章……12\n第二章……34\n第三章……56").unspoken).toMatchObject([{ kind: "leader", count: 3 }]);
});

it.each([
  ["of one paragraph", "[Transcriber's Note: The music is left out.]", "note"],
  ["of several paragraphs", "[Transcriber's Note:\n\nThe music\nis left out.\n\n]", "note"],
  ["to a word", "[Footnote A: Canada.]", "footnote"],
])("notes of a transcriber %s are omitted", (_, note, kind) => {
  const text = `It rained.\n\n${note}\n\nThe sun came.`;
  expect(spoken(text)).toBe("It rained.\n\nThe sun came.");
  expect(plan(text).unspoken).toMatchObject([{ kind, count: 1 }]);
});

it("notes of a transcriber are kept inside a sentence", () => {
  const text = "He read the word [Footnote] twice, and [Transcriber's Note] once.";
  expect(spoken(text)).toBe(text);
});

describe("a rare character of Aozora Bunko", () => {
  const HEAD = `吾輩は猫である\n夏目漱石\n\n${"-".repeat(55)}\n【テキスト中に現れる記号について】\n《》：ルビ\n${"-".repeat(55)}\n\n`;
  const NOTE = "※［＃「足へん＋厨」、第3水準1-92-39］";

  it.each([
    [`いくら${NOTE}躇《ちゅうちょ》していても`, "いくらちゅうちょしていても"],
    [`一日｜御${NOTE}《ごぜん》をいただかない`, "一日ごぜんをいただかない"],
    [`まだ${NOTE}《いつ》わられた`, "まだいつわられた"],
  ])("is spoken by its reading: %s", (text, words) => {
    expect(spoken(`${HEAD}${text}。`)).toContain(words);
  });

  it("leaves other words unchanged, and the header gives title and author", () => {
    const read = plan(`${HEAD}吾輩《わがはい》は猫である。`);
    expect(read).toMatchObject({ title: "吾輩は猫である", author: "夏目漱石" });
    expect(read.parts[0]?.text).toMatch(/^吾輩は猫である\n\n夏目漱石/);
  });
});

describe("a play with names and full stops", () => {
  const PLAY = [
    "ROPER. Good morning.",
    "FARNCOMBE. How are you?",
    "GLADYS. I'll tell Mrs. Upjohn.",
    "ROPER. Do.",
    "MRS. UPJOHN. Here I am.",
    "FARNCOMBE. Good.",
    "MRS. UPJOHN. Sit down.",
    "ROPER. Thank you.",
  ].join("\n\n");

  it("gives each name its voice, even one with a title, and the words of a rare name to nobody", () => {
    const { parts, silentSpeakers } = plan(PLAY, {
      ROPER: "felix_zh",
      FARNCOMBE: "kian_en_zh",
      "MRS. UPJOHN": "opal_en_zh",
    });
    expect(silentSpeakers).toEqual([]);
    expect(parts.map(({ voice = "-", text }) => `${voice}: ${text}`)).toEqual([
      "felix_zh: Good morning.",
      "kian_en_zh: How are you?",
      "-: GLADYS. I'll tell Mrs. Upjohn.",
      "felix_zh: Do.",
      "opal_en_zh: Here I am.",
      "kian_en_zh: Good.",
      "opal_en_zh: Sit down.",
      "felix_zh: Thank you.",
    ]);
  });

  it("without voices is reported with the names that will be spoken", () => {
    const { voicelessNames = [] } = plan(PLAY);
    expect(voicelessNames.map(({ name }) => name)).toEqual(["ROPER", "FARNCOMBE", "MRS. UPJOHN", "GLADYS"]);
  });
});

describe("names without a voice", () => {
  const TALK = "Anna: One.\n\nBen: Two.\n\nCleo: Three.\n\nAnna: Four.\n\nBen: Five.\n\nCleo: Six.";

  it("are reported if only some speakers have one", () => {
    expect(plan(TALK, { Anna: "felix_zh" }).voicelessNames).toEqual([
      { name: "Ben", count: 2 },
      { name: "Cleo", count: 2 },
    ]);
  });

  it("are not columns of a table, which do not take turns", () => {
    const rows = [
      "Rule: one",
      "Rule: two",
      "Rule: three",
      "Rule: four",
      "Tool: five",
      "Tool: six",
      "Tool: seven",
    ];
    expect(plan(rows.join("\n\n"))).not.toHaveProperty("voicelessNames");
  });
});

it("a sound with its time is omitted from a transcript", () => {
  expect(spoken("It was [unintelligible 00:17:58.28] late.")).toBe("It was late.");
  expect(spoken("The word [unintelligible text] stays.")).toBe("The word [unintelligible text] stays.");
});

describe("the header of a mail", () => {
  const HEADER = [
    "From fork-admin@xent.com Wed Aug 28 17:56:47 2002",
    "Return-Path: <fork-admin@xent.com>",
    "Received: from localhost (jalapeno [127.0.0.1])",
    "\tby phobos.labs with ESMTP id BF57A44156",
    "From: Gary Lawrence <gary@example.com>",
    "Subject: Re: Where do the socks go?",
    "Message-ID: <1@example.com>",
  ].join("\n");

  it("is omitted except sender and subject, and so are the marks of quotations", () => {
    const text = `${HEADER}\n\nR> Depends on the socks.\n> > And on the machine,\n> it says.\n\nThey are gone.`;
    expect(spoken(text)).toBe(
      "From: Gary Lawrence <gary@example.com>\n\nSubject: Re: Where do the socks go?\n\nDepends on the socks. And on the machine, it says.\n\nThey are gone.",
    );
    expect(plan(text).unspoken).toMatchObject([{ kind: "mail_header", count: 5 }]);
  });

  it("is not found in a text about mails", () => {
    const text =
      "Subject: the field that says what it is about.\n\nReceived: a field of each server.\n\n> A quotation.";
    expect(spoken(text)).toContain("Received: a field of each server.");
  });
});

describe("a formula of one letter or digit", () => {
  const inMarkdown = (text: string): string =>
    planText({ text, format: "markdown", speed: 1, pauseSeconds: 0.6 })
      .parts.map((part) => part.text)
      .join("\n\n");

  it.each([
    [
      "There are $4$ suits and $52!$ orders of $2,000$ words.",
      "There are 4 suits and 52! orders of 2,000 words.",
    ],
    ["Here $w$ and $b$ are weights.", "Here w and b are weights."],
  ])("is a word of its sentence: %s", (text, words) => {
    expect(inMarkdown(`# Odds\n\n${text}`)).toContain(words);
  });

  it.each(["It costs $5 and $10.", "Set $HOME and $PATH.", "He paid 5$ for 10$."])(
    "is not a price: %s",
    (text) => {
      expect(inMarkdown(`# Odds\n\n${text}`)).toContain(text);
    },
  );
});

it("items of a list inside a cell are separate words, and emphasis is not", () => {
  const table =
    "| Rule | Options |\n|---|---|\n| a | one: <ul><li>first</li><li>second</li></ul> |\n| b | un<b>believ</b>able |";
  const { parts } = planText({ text: table, format: "markdown", speed: 1, pauseSeconds: 0.6 });
  const words = parts.map(({ text }) => text.replace(/\s+/g, " ")).join(" ");
  expect(words).toMatch(/one: first second/);
  expect(words).toContain("unbelievable");
});

it("the notice of a Chinese site above a book is omitted, and the line in brackets is its title", () => {
  const notice = "声明:本书由万书网(www.txt2017.com)自网络收集整理制作,仅供交流学习使用,版权归原作者所有.";
  const read = plan(`${notice}\n\n《荒原狼》\n\n这本书的内容是一个人留下的自述。`);
  expect(read.title).toBe("荒原狼");
  expect(read.unspoken).toMatchObject([{ kind: "ebook_frame", count: 1 }]);
  expect(read.parts[0]?.text).toBe("《荒原狼》\n\n这本书的内容是一个人留下的自述。");
});

it("the notice of a Chinese site is not found in a first sentence about a download", () => {
  const text = "他从网络下载了一本书。\n\n它很有意思。";
  expect(spoken(text)).toBe(text);
});

it("a direction below a label that stands alone is omitted", () => {
  const turn = (name: string, words: string): string => `${name}.\n\n${words}`;
  const play = [
    turn("ROPER", "[Smiling.] I hope so."),
    turn("FARNCOMBE", "Do you?"),
    turn("ROPER", "[Taking off his gloves.] Yes."),
    turn("FARNCOMBE", "Good."),
  ].join("\n\n");
  const { parts, unspoken } = plan(play, { ROPER: "felix_zh", FARNCOMBE: "kian_en_zh" });
  expect(parts.map(({ text }) => text)).toEqual(["I hope so.", "Do you?", "Yes.", "Good."]);
  expect(unspoken).toMatchObject([{ kind: "direction", count: 2 }]);
});

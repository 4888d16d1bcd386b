/** Which parts are made from cues: the text, the speaker, the start, and what is left out. */
import { describe, expect, it } from "vitest";
import type { SpeakersByName } from "../../../src/narration/text/plan-types.ts";
import { planTimeline } from "../../../src/narration/timeline/plan-timeline.ts";

/** Builds subtitles with one cue a second, each half a second long. */
const filmOf = (...texts: readonly string[]): string =>
  texts
    .map((text, index) => `${index + 1}\n00:00:${`${index + 10}`},000 --> 00:00:${index + 10},500\n${text}\n`)
    .join("\n");
const planOf = (text: string, voices: SpeakersByName = {}) =>
  planTimeline({ text, kind: "srt", speed: 1, voices });
const spoken = (text: string, voices: SpeakersByName = {}) =>
  planOf(text, voices).plan.parts.map(({ text: words, startSeconds }) => [startSeconds, words]);
const unspoken = (text: string) => planOf(text).plan.unspoken.map(({ kind, count }) => [kind, count]);

describe("a sentence", () => {
  it("is one part that begins with its first cue, however many cues it spans", () => {
    expect(spoken(filmOf("I have been", "waiting for", "you. Come in.", "Sit down."))).toEqual([
      [10, "I have been waiting for you. Come in."],
      [13, "Sit down."],
    ]);
  });

  it("continues after an abbreviation, and after an ellipsis before a small letter", () => {
    expect(spoken(filmOf("I saw Mr.", "Smith there.", "And then...", "nothing."))).toEqual([
      [10, "I saw Mr. Smith there."],
      [12, "And then... nothing."],
    ]);
  });

  it("ends before a long silence", () => {
    const text = `${filmOf("I have been")}\n00:00:12,000 --> 00:00:13,000\nwaiting.\n`;
    expect(spoken(text)).toHaveLength(2);
  });

  it("is not longer than 20 s", () => {
    const words = Array.from(
      { length: 45 },
      (_, index) => `${index % 5 === 4 ? "on. And" : "and"} ${"x".repeat(index + 1)}`,
    );
    const starts = planOf(filmOf(...words)).plan.parts.map(({ startSeconds }) => startSeconds);
    expect(starts).toEqual([10, 30, 50]);
  });

  it("is a cue in a text without punctuation, which is reported", () => {
    const text = filmOf("今天很高兴", "我们去吃饭", "你来吗");
    expect(spoken(text)).toHaveLength(3);
    expect(planOf(text).remarks.join()).toContain("No marks end its sentences, so each cue is a part.");
  });

  it("that is too long for one task is several parts, of which the first has the time", () => {
    const starts = planOf(filmOf("It rained all day. ".repeat(200), "Done.")).plan.parts.map(
      ({ startSeconds }) => startSeconds,
    );
    expect(starts.length).toBeGreaterThan(2);
    expect([starts[0], starts.at(-1)]).toEqual([10, 11]);
    expect(starts.slice(1, -1).every((start) => start === undefined)).toBe(true);
  });
});

describe("a dash before a cue", () => {
  it.each([
    ["a hyphen", "We sail at dawn,", "-Are you coming?"],
    ["a long dash", "I thought that", "— Who is there?"],
    ["two angles", "He said that", ">> Good evening."],
  ])("marks another speaker, who begins at the time of the cue: %s", (_, before, cue) => {
    expect(spoken(filmOf(before, cue)).map(([start]) => start)).toEqual([10, 11]);
  });

  it.each([
    ["two hyphens", "I thought that", "<i>--you had come.</i>"],
    ["a dash and a small letter", "I thought that", "—you had come."],
    ["a sign of minus", "It was", "-5 degrees."],
    ["a dash beside the name of the same speaker", "<v Ann>I thought that", "<v Ann>- you had come."],
  ])("continues the sentence if it is %s", (_, before, cue) => {
    expect(spoken(filmOf(before, cue)).map(([start]) => start)).toEqual([10]);
  });

  it("keeps the speaker of the line above if it is two hyphens", () => {
    const { parts } = planOf(filmOf("OLE [OVER RADIO]:\n--and came into our lock."), {
      OLE: "kian_en_zh",
    }).plan;
    expect(parts.map(({ voice, text }) => [voice, text])).toEqual([
      ["kian_en_zh", "and came into our lock."],
    ]);
  });
});

describe("text that is not spoken", () => {
  it.each([
    ["<i>Very</i> <b>late</b> <font color='red'>now</font>.", "Very late now."],
    ["{\\an8}Up <00:00:01.500><c.yellow>here</c>.", "Up here."],
    ["Rock &amp; roll &lt;3 times.", "Rock & roll <3 times."],
    ["<ruby>東京<rt>とうきょう</rt></ruby>です。", "東京です。"],
    ["One line\nand another.", "One line and another."],
    ["今日は\nいい天気です。", "今日はいい天気です。"],
    ["- Hello.\n- Hi!", "Hello.\nHi!"],
    ["-5 degrees.", "-5 degrees."],
    ["2 < 3 is true.", "2 < 3 is true."],
  ])("is omitted from %j", (text, words) => {
    expect(spoken(filmOf(text))).toEqual([[10, words]]);
    expect(unspoken(filmOf(text))).toEqual([]);
  });

  it.each([
    ["[Music]", "sound"],
    ["(door closes\nslowly)", "sound"],
    ["[sighs] Yes.", "sound"],
    ["(WHISPERING) Yes.", "sound"],
    ["（ドアの音）", "sound"],
    ["♪ la la ♪", "song"],
    ["♪ la la\nla ♪", "song"],
    ["# la la", "song"],
    ["# la la\nla #", "song"],
    ["#la la#", "song"],
    [`[sighs ${"x".repeat(300)}] Yes.`, "sound"],
    ["", "empty_cue"],
  ])("is reported with its kind: %j", (text, kind) => {
    expect(unspoken(filmOf("Good.", text))).toEqual([[kind, 1]]);
    expect(spoken(filmOf("Good.", text)).flat().join()).not.toMatch(/Music|door|sighs|WHISP|la|ドア/);
  });

  it.each(["#metoo is the #1 hashtag.", "# 4 is on the list.", "I write in C#."])(
    "does not include a number sign: %s",
    (text) => {
      expect(spoken(filmOf(text))).toEqual([[10, text]]);
    },
  );

  it("includes a bracket that spans two cues, but no parentheses inside a sentence that do", () => {
    const text = filmOf(
      "Who? <i>[He comes in</i>",
      "<i>slowly]</i> Me.",
      "(A door",
      "closes)",
      "(Both",
      "go) Bye.",
    );
    expect(spoken(text)).toEqual([
      [10, "Who?"],
      [11, "Me."],
      [14, "(Both go) Bye."],
    ]);
    expect(planOf(text).plan.unspoken).toEqual([
      { kind: "sound", count: 2, excerpt: "[He comes in slowly]" },
    ]);
  });

  it("does not include parentheses inside a sentence", () => {
    expect(spoken(filmOf("Take it (the red one) now."))).toEqual([[10, "Take it (the red one) now."]]);
  });

  it("includes lines repeated from the cue above", () => {
    const text = filmOf("so today", "so today\nwe will", "we will\ngo home.", "go home.\nBye.");
    expect(
      spoken(text)
        .map(([, words]) => words)
        .join(" "),
    ).toBe("so today we will go home. Bye.");
    expect(unspoken(text)).toEqual([["repeat", 3]]);
  });

  it("does not include words that a speaker repeats", () => {
    expect(spoken(filmOf("No.", "No.", "No."))).toHaveLength(3);
  });

  it("may be everything, and the rest may be too long: both are refused", () => {
    expect(() => planOf(filmOf("[Music]", "♪ la ♪"))).toThrow(/nothing to speak/);
    const dialogue = "ANNA: No.\nBEN: Yes.\n".repeat(11_000);
    expect(() => planOf(filmOf(dialogue), { ANNA: "sophie_en_zh", BEN: "kian_en_zh" })).toThrow(
      /come to 22000 parts, and a narration has at most 20000/,
    );
    expect(() => planOf(filmOf("Half \ud800 of it."))).toThrow(/not well-formed/);
  });
});

describe("speakers", () => {
  const voices: SpeakersByName = { Anna: "sophie_en_zh", BEN: "kian_en_zh" };
  const spokenTextOf = (text: string) =>
    planOf(text, voices).plan.parts.map(({ voice, startSeconds, text: words }) => [
      startSeconds,
      voice,
      words,
    ]);

  it.each([
    ["tags", "<v Anna>Hello.</v>\n<v.loud Ben>Hi."],
    ["labels", "ANNA: Hello.\nBen: Hi."],
    ["labels behind dashes", "- ANNA: Hello.\n- BEN: Hi."],
  ])("are named by %s; the second in a cue follows the first", (_, text) => {
    expect(spokenTextOf(filmOf(text))).toEqual([
      [10, "sophie_en_zh", "Hello."],
      [undefined, "kian_en_zh", "Hi."],
    ]);
  });

  it("speak their sentence to its end, over cues", () => {
    expect(spokenTextOf(filmOf("ANNA: I have", "been waiting.", "Really."))).toEqual([
      [10, "sophie_en_zh", "I have been waiting."],
      [12, undefined, "Really."],
    ]);
  });

  it("are named by a label that is alone in the cue above", () => {
    expect(spokenTextOf(filmOf("ANNA (on the radio):", "Hello."))).toEqual([[11, "sophie_en_zh", "Hello."]]);
  });

  it("in brackets before the words are speakers if they have a voice", () => {
    expect(spokenTextOf(filmOf("[Anna] Hello."))).toEqual([[10, "sophie_en_zh", "Hello."]]);
  });

  it("in capitals are reported once each if no voices are given", () => {
    const { remarks } = planOf(filmOf("WOMAN [on TV]: One.", "WOMAN: Two.", "Three.", "Four."));
    expect(remarks.join()).toContain("2 cues begin with a name (WOMAN), which");
  });

  it("without a voice are reported, and their names are not spoken", () => {
    const { plan, remarks } = planOf(filmOf("<v Carl>Hello.", "<v Carl>Bye."), voices);
    expect(plan.parts.map(({ text }) => text)).toEqual(["Hello.", "Bye."]);
    expect(remarks.join()).toContain('"Carl" (2)');
  });
});

describe("cues that overlap", () => {
  const cue = (from: string, to: string): string => `00:00:${from} --> 00:00:${to}\nIt rang.\n`;

  it("are named", () => {
    const text = [cue("01,000", "04,500"), cue("03,000", "04,000"), cue("04,000", "06,000")].join("\n");
    expect(planOf(text).remarks.join()).toContain("2 cues overlap the one before: cues 2, 3.");
  });

  it("are not reported for a tenth of a second", () => {
    const text = [cue("01,000", "03,000"), cue("02,950", "04,000")].join("\n");
    expect(planOf(text).remarks.join()).not.toContain("overlap");
  });
});

it("a file of another kind than its name says is read, and reported", () => {
  const text = `WEBVTT\n\n${filmOf("Hello.")}`;
  expect(planOf(text).remarks.join()).toContain("called .srt and holds WebVTT");
  const srt = planTimeline({ text: filmOf("Hello."), kind: "vtt", speed: 1, voices: {} });
  expect(srt.remarks.join()).toContain("called .vtt and holds SubRip");
});

it("a file whose cues are out of order is spoken in the order of their times, which is reported", () => {
  const text = `${filmOf("Late.")}\n00:00:01,000 --> 00:00:02,000\nEarly.\n`;
  expect(spoken(text)).toEqual([
    [1, "Early."],
    [10, "Late."],
  ]);
  expect(planOf(text).remarks.join()).toContain("1 cue begins before the one above");
});

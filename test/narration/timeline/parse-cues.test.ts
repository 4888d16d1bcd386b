/** Texts that are read as cues, and texts that are refused before anything is paid, each with one sentence. */
import { describe, expect, it } from "vitest";
import { UnspokenList } from "../../../src/narration/text/blocks.ts";
import { containsCues, isSubtitles } from "../../../src/narration/text/plain/time-codes.ts";
import { parseCues } from "../../../src/narration/timeline/parse-cues.ts";

const cue = (times: string, words = "Hello."): string => `${times}\n${words}\n`;
const read = (...blocks: readonly string[]) => parseCues(blocks.join("\n"), new UnspokenList());
const timesOf = (text: string) =>
  read(text).cues.map(({ startSeconds, endSeconds }) => [startSeconds, endSeconds]);

describe("a cue", () => {
  it.each([
    ["00:00:01,000 --> 00:00:02,500", [1, 2.5]],
    ["00:00:01.000 --> 00:00:02.500", [1, 2.5]],
    ["01:02.250 --> 01:03.000 align:start position:0%", [62.25, 63]],
    ["01:00:00,5 --> 01:00:01,25", [3600.5, 3601.25]],
    ["00:00:01-->00:00:02", [1, 2]],
    ["00:00:02,000 --> 00:00:02,000", [2, 2]],
    ["23:59:59,999 --> 24:00:00,000", [86_399.999, 86_400]],
  ])("has the times of %s", (line, times) => {
    expect(timesOf(cue(line))).toEqual([times]);
  });

  it("is found after a byte order mark, with CRLF, and with or without numbers", () => {
    const { cues } = read(
      "\ufeff1\r\n00:01.000 --> 00:02.000\r\nOne.\r\n\r\n00:03.000 --> 00:04.000\r\nTwo.\r\n",
    );
    expect(cues.map(({ name, lines }) => [name, ...lines])).toEqual([
      ["1", "One."],
      ["2", "Two."],
    ]);
  });

  it("is named by its number if all numbers differ", () => {
    expect(read("7\n", cue("00:01.000 --> 00:02.000")).cues[0]?.name).toBe("1");
    const text = `7\n${cue("00:01.000 --> 00:02.000")}\n9\n${cue("00:03.000 --> 00:04.000")}`;
    expect(read(text).cues.map(({ name }) => name)).toEqual(["7", "9"]);
  });

  it("keeps text after a blank line, and does not read the next number as text", () => {
    const text = "1\n00:01.000 --> 00:02.000\nOne\n\nand a half.\n2\n00:03.000 --> 00:04.000\nTwo.\n";
    expect(read(text).cues.map(({ lines }) => lines)).toEqual([["One", "and a half."], ["Two."]]);
  });

  it("in WebVTT has an identifier of any kind, and is not a note, style or region", () => {
    const text = `WEBVTT - a film\nKind: captions\n\nNOTE\nby hand --> here\n\nSTYLE\n::cue { color: red }\n\nREGION\nid:a\n\nintro\n${cue("00:01.000 --> 00:02.000")}\nNOTE later\n\nsecond one\n${cue("00:03.000 --> 00:04.000")}`;
    const { kind, cues } = read(text);
    expect(kind).toBe("vtt");
    expect(cues.map(({ lines }) => lines)).toEqual([["Hello."], ["Hello."]]);
  });

  it("in SubRip may begin with NOTE", () => {
    const { kind, cues } = read(cue("00:01.000 --> 00:02.000", "NOTE this."));
    expect(kind).toBe("srt");
    expect(cues[0]?.lines).toEqual(["NOTE this."]);
  });

  it("that begins before the one above is put in order, and counted", () => {
    const { cues, backwardsCueCount: backwards } = read(
      cue("00:05.000 --> 00:06.000", "B"),
      cue("00:01.000 --> 00:02.000", "A"),
    );
    expect(cues.map(({ lines }) => lines[0])).toEqual(["A", "B"]);
    expect(backwards).toBe(1);
  });
});

it.each([
  ["no cue", "Just a text.", /hold no cue\. Nothing was sent/],
  ["no end", cue("00:00:01,000 -->"), /cue of line 1 has no end/],
  ["no begin", cue("--> 00:00:02,000"), /times of line 1 cannot be read/],
  ["no times", cue("0:1 --> 0:2"), /times of line 1 cannot be read/],
  ["an end before the begin", cue("00:00:03,000 --> 00:00:01,000"), /cue of line 1 ends before it begins/],
  ["times over a day", cue("24:00:00,001 --> 24:00:01,000"), /times of line 1 are over 24 hours/],
  ["too many cues", cue("00:00:01,000 --> 00:00:02,000").repeat(10_000), /have 10000 cues, and at most 5000/],
])("refused is a file with %s", (_, text, sentence) => {
  expect(() => read(text)).toThrow(sentence);
});

describe("a text without a file's name", () => {
  const two = `${cue("00:01.000 --> 00:02.000")}\n${cue("00:03.000 --> 00:04.000")}`;
  it.each([
    ["cues alone", two, true, true],
    ["a number first", `1\n${two}`, true, true],
    ["WebVTT", `\ufeffWEBVTT\n\n${two}`, true, true],
    ["a fence", `\`\`\`srt\n${two}\`\`\``, true, true],
    ["one cue", cue("00:01.000 --> 00:02.000"), false, false],
    ["times without text", "00:01.000 --> 00:02.000\n\n00:03.000 --> 00:04.000\n", false, false],
    ["an article about them", `How to write them:\n\n${two}`, true, false],
    ["an arrow", "Go north --> then east.\nGo 1 --> 2.", false, false],
  ])("with %s", (_, text, holds, is) => {
    expect([containsCues(text), isSubtitles(text)]).toEqual([holds, is]);
  });
});

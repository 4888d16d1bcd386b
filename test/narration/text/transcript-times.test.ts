/** Times in transcripts, which are not spoken, and other rising numbers with a colon, which are. */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan } from "../../../src/narration/text/plan-types.ts";

const VOICES = { "Dana Reed": "sophie_en_zh", "Omar Field": "kian_en_zh" } as const;
const plan = (
  text: string,
  speakers: Record<string, "sophie_en_zh" | "kian_en_zh"> = VOICES,
): NarrationPlan => planText({ text, format: "markdown", speed: 1, pauseSeconds: 0.6, speakers });
const WORDS = ["Good morning.", "It still leaks.", "Then let us begin."] as const;

/** Builds a transcript of three turns; `label` writes the label of a turn and the words behind it. */
const transcriptOf = (
  label: (name: string, time: string, words: string) => string,
  between = "\n\n",
  times = ["0:03", "0:08", "1:02:15"],
): string =>
  ["Dana Reed", "Omar Field", "Dana Reed"]
    .map((name, index) => label(name, times[index] ?? "", WORDS[index] ?? ""))
    .join(between);

const LATE = ["12:04", "12:11", "12:32"];

describe("the times of a transcript", () => {
  it.each<[string, string]>([
    ["behind the name", transcriptOf((name, time, words) => `${name}  ${time}\n${words}`)],
    [
      "behind the name, without blank lines",
      transcriptOf((name, time, words) => `${name}  ${time}\n${words}`, "\n"),
    ],
    ["in parentheses", transcriptOf((name, time, words) => `**${name}** (${time}):\n${words}`)],
    ["before the name", transcriptOf((name, time, words) => `${time} ${name}: ${words}`)],
    ["from and to", transcriptOf((name, time, words) => `${name}\t${time} - ${time}\n${words}`)],
    [
      "before the name, with the half of the day",
      transcriptOf((name, time, words) => `${time} AM ${name}: ${words}`, "\n\n", ["9:14", "9:16", "10:02"]),
    ],
    [
      "before the name, with the day",
      transcriptOf((name, time, words) => `12/03/2024, ${time} - ${name}: ${words}`, "\n", LATE),
    ],
    [
      "before the name, on several days",
      ["12/03/24, 21:16 - Dana Reed:", "13/03/24, 9:04 - Omar Field:", "14/03/24, 8:00 - Dana Reed:"]
        .map((label, index) => `${label} ${WORDS[index]}`)
        .join("\n"),
    ],
    [
      "before the name, with the day in brackets",
      transcriptOf((name, time, words) => `[3.12.24, ${time}:07] ${name}: ${words}`, "\n", LATE),
    ],
    [
      "below the name, of an excerpt",
      transcriptOf((name, time, words) => `${name}\n${time}\n${words}`, "\n\n", LATE),
    ],
    [
      "before the name, of an excerpt",
      transcriptOf((name, time, words) => `${time} ${name}: ${words}`, "\n\n", LATE),
    ],
  ])("are not spoken, and their names are labels: %s", (_, text) => {
    const { parts, unspoken } = plan(text);
    expect(parts.map(({ voice, text: words }) => [voice, words])).toEqual([
      ["sophie_en_zh", WORDS[0]],
      ["kian_en_zh", WORDS[1]],
      ["sophie_en_zh", WORDS[2]],
    ]);
    expect(unspoken).toMatchObject([{ kind: "time_code", count: 3 }]);
  });

  it.each([
    ["alone on their lines", transcriptOf((_, time, words) => `${time}\n${words}`)],
    ["alone in their paragraphs", transcriptOf((_, time, words) => `${time}\n\n${words}`)],
    ["in brackets, from and to", transcriptOf((_, time, words) => `[${time}.000 --> ${time}.900] ${words}`)],
  ])("are not spoken %s", (_, text) => {
    const { parts } = plan(text);
    expect(
      parts
        .map((part) => part.text)
        .join(" ")
        .replace(/\s+/g, " "),
    ).toBe(WORDS.join(" "));
  });

  it("leave names with a colon, which are reported, if there are no voices", () => {
    const { parts, voicelessNames } = plan(
      transcriptOf((name, time, words) => `${name}  ${time}\n${words}`),
      {},
    );
    expect(parts[0]?.text).toContain("Dana Reed: Good morning.");
    expect(voicelessNames).toMatchObject([{ name: "Dana Reed" }, { name: "Omar Field" }]);
  });

  it.each([
    [
      "verses of the Bible",
      "John 3:16\nFor God so loved.\n\nJohn 3:17\nFor God sent.\n\nJohn 3:18\nHe that believeth.",
    ],
    ["a schedule", "09:00 Anna: Welcome.\n\n10:30 Ben: Gates.\n\n11:15 Anna: Locks.\n\n12:00 Ben: The end."],
    [
      "hours that head sections",
      "11:42\n\nShe came home.\n\n11:58\n\nHe was gone.\n\n12:07\n\nThe bell rang.",
    ],
    ["results of a race", "Ann Lee  0:58\n\nOmar Field  1:02\n\nDana Reed  1:05\n\nBen Second  1:09"],
    ["a diary", "10:32 Tea was served.\n\n11:07 We left.\n\n12:51 The barge came."],
    [
      "times that fall",
      transcriptOf((name, time, words) => `${name}  ${time}\n${words}`, "\n\n", ["9:03", "4:08", "1:15"]),
    ],
  ])("are not %s", (_, text) => {
    expect(plan(text, {}).unspoken).toEqual([]);
  });

  it.each(["Dana Reed", "0:03", "0:03 Dana\n", `Dana Reed${" ".repeat(60_000)}`, "(", "[a "])(
    "are sought in linear time: 400,000 characters of %j",
    (mark) => {
      const startCpuUsage = process.cpuUsage();
      plan(`${mark.repeat(Math.ceil(400_000 / mark.length))} 0:03`);
      const { user, system } = process.cpuUsage(startCpuUsage);
      expect((user + system) / 1000).toBeLessThan(4_000);
    },
  );
});

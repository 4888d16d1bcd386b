/** Texts that are refused before anything is paid, and odd texts that are spoken. */
import { describe, expect, it } from "vitest";
import { countCodePoints } from "../../../src/contract/unicode.ts";
import { AudioError } from "../../../src/errors.ts";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan, PlanRequest } from "../../../src/narration/text/plan-types.ts";
import { findPartsByQuote } from "../../../src/narration/text/quotes.ts";

const plan = (text: string, more: Partial<PlanRequest> = {}): NarrationPlan =>
  planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6, ...more });

function refusal(act: () => unknown): AudioError {
  try {
    act();
  } catch (error) {
    if (error instanceof AudioError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a text", () => {
  it.each([
    ["nothing", "", "plain", /nothing to speak: no letter or digit\.$/],
    ["white space", " \n\t\u3000\u00a0\n", "plain", /nothing to speak/],
    ["emoji alone", "🎉 👩‍👩‍👧 ❤️", "plain", /nothing to speak.*no_words: "🎉/],
    ["marks alone", "…\n\n* * *\n\n?!", "plain", /nothing to speak.*no_words: "…"/],
    ["code alone", "```\nlet a;\n```", "markdown", /nothing to speak.*code: "let a;"/],
    ["front matter alone", "---\na: b\n---\n", "markdown", /nothing to speak.*front_matter: "a: b"/],
    ["half of a pair", "a\ud800b", "plain", /half of a surrogate pair/],
    ["lost text", "Sofia lives in Bogot\ufffd now", "plain", /U\+FFFD.*"Sofia lives in Bogot\ufffd now"/],
  ] as const)("is refused if it contains %s", (_, text, format, rule) => {
    const error = refusal(() => plan(text, { format }));
    expect(error.code).toBe("invalid_request");
    expect(error.message).toMatch(rule);
  });

  it("may contain a grapheme that is longer than a part, which is cut", () => {
    const grapheme = `a${"\u0301".repeat(3_000)}`;
    const { parts, unspoken } = plan(`Before ${grapheme} after.`);
    for (const { text } of parts) expect(countCodePoints(text)).toBeLessThanOrEqual(2048);
    expect(parts.map(({ text }) => text.replaceAll("\u0301", ""))).toEqual(["Before", "á", " after."]);
    expect(unspoken).toEqual([]);
  });

  it("may contain a word of symbols that is longer than a part, which is not sent, and reported", () => {
    const { parts, unspoken } = plan(`Before ${"🎉".repeat(5_000)} after.`);
    expect(parts.map(({ text }) => text.replaceAll("🎉", "").trim())).toEqual(["Before", "after."]);
    expect(unspoken).toMatchObject([{ kind: "no_words" }]);
  });

  it("is cut between graphemes if there is no better place", () => {
    const family = "👩‍👩‍👧‍👦";
    const { parts } = plan(`字${family}🇯🇵e\u0323\u0302한`.repeat(400));
    expect(parts.length).toBeGreaterThan(1);
    for (const { text } of parts) {
      expect(text).not.toMatch(/^(?:\p{M}|\u200d|\p{Emoji_Modifier})|\u200d$/u);
      expect([...text.matchAll(/[\u{1f1e6}-\u{1f1ff}]/gu)].length % 2).toBe(0);
    }
  });

  it("may be one paragraph of nearly 8 MiB, even in Markdown", () => {
    const text = "The river ran past the old mill and on to the sea. ".repeat(160_000);
    expect(plan(text, { format: "markdown" }).parts.length).toBeGreaterThan(5_000);
    // The heading makes the text Markdown, so the Markdown library parses it.
    expect(plan(`# Mill\n\n${text}`, { format: "markdown" }).parts.length).toBeGreaterThan(5_000);
  }, 60_000);

  it.each<readonly [what: string, unit: string, before: string]>([
    ["blank lines", " \n", ""],
    ["line breaks in brackets", "\u2028", "["],
    ["full-width spaces", "\u3000", "The river ran."],
    ["tabs at the end", "\t", "A line"],
    ["dashes", "–", "The river ran."],
  ])("is planned quickly if it is full of %s", (_, unit, before) => {
    const startCpuUsage = process.cpuUsage();
    plan(`${before}${unit.repeat(60_000)}It ended here.`);
    const { user, system } = process.cpuUsage(startCpuUsage);
    expect((user + system) / 1000).toBeLessThan(4_000);
  });

  it("is not cut between a heading and the long paragraph below it", () => {
    const words = "All of these words are in one sentence after another. ".repeat(26);
    const [first] = plan(`Chapter 1\n\n${words}`).parts;
    expect(first?.text).toMatch(/^Chapter 1\n\nAll of these/);
    expect(first?.estimatedSeconds).toBeGreaterThan(8);
  });
});

describe("speakers", () => {
  it("are only those in voices: an unknown name is plain text", () => {
    const { parts, silentSpeakers } = plan("CARL: Hello.\n\nNote: nothing.\n\nBen says: no.", {
      speakers: { Ben: "felix_zh" },
    });
    expect(parts).toMatchObject([{ text: "CARL: Hello.\n\nNote: nothing.\n\nBen says: no." }]);
    expect(parts[0]).not.toHaveProperty("voice");
    expect(silentSpeakers).toEqual(["Ben"]);
  });

  it("keep their voice to the end of the paragraph, and no longer", () => {
    const { parts } = plan("ANNA: One\ntwo.\n\nThree.\n\nANNA : Four.", { speakers: { Anna: "felix_zh" } });
    expect(parts.map(({ voice, text }) => [voice, text])).toEqual([
      ["felix_zh", "One two."],
      [undefined, "Three."],
      ["felix_zh", "Four."],
    ]);
  });

  it("may have a name that every object has as a property", () => {
    const { parts } = plan("constructor: One.\n__proto__: Two.\ntoString: Three.");
    expect(parts).toHaveLength(1);
  });

  it.each([
    ["", /must not be empty/],
    ["  ", /must not be empty/],
    ["Anna:", /must not contain a colon/],
    ["a".repeat(101), /at most 100 characters/],
  ])("need a name that can begin a line: %j", (name, rule) => {
    const error = refusal(() => plan("Text.", { speakers: { [name]: "felix_zh" } }));
    expect(error).toMatchObject({ code: "invalid_request" });
    expect(error.message).toMatch(rule);
  });

  it("need names that differ by more than case", () => {
    const error = refusal(() => plan("Text.", { speakers: { Anna: "felix_zh", ANNA: "kian_en_zh" } }));
    expect(error.message).toMatch(/"ANNA" is given twice/);
  });
});

describe("a quote", () => {
  const { parts } = plan(
    "“Hello there,” said\nAnna — it’s late…\n\nChapter 1\n\n第一行，\n第二行。 Nobody came.\n\nChapter 2\n\nNobody came. The end.",
  );
  const find = (quote: string): number | undefined => findPartsByQuote(parts, quote)[0];

  it("names the part that contains it", () => {
    expect(parts).toHaveLength(3);
    expect(find("Hello there")).toBe(0);
    expect(find("  said   Anna ")).toBe(0);
    expect(find("said\nAnna")).toBe(0);
    expect(find("第一行，第二行")).toBe(1);
    expect(find("第一行，\n第二行")).toBe(1);
    expect(find("The end.")).toBe(2);
  });

  it("may be typed by hand: straight marks, another case, marks of Markdown", () => {
    expect(find('"hello there," said anna')).toBe(0);
    expect(find("anna - it's late...")).toBe(0);
    expect(find("**The** end")).toBe(2);
  });

  it("is searched exactly first, and then loosely", () => {
    const twins = [{ text: "The END is near." }, { text: "The end is near." }];
    expect(findPartsByQuote(twins, "The END")).toEqual([0]);
    expect(findPartsByQuote(twins, "The end")).toEqual([1]);
    expect(refusal(() => findPartsByQuote(twins, "the end")).message).toMatch(/occurs in 2 different parts/);
  });

  it.each([
    [
      "Nobody came",
      /"Nobody came" of a retake occurs in 2 different parts.*part 2: ".*第二行。 Nobody came\."; part 3: "Chapter 2 Nobody/,
    ],
    ["Somebody came", /occurs in no part/],
    ["it’s late… Chapter 1", /extends beyond the end of a part/],
    ["…", /must contain a letter or a digit/],
    ["", /must contain a letter or a digit/],
  ])("is refused with its rule: %j", (quote, rule) => {
    const error = refusal(() => find(quote));
    expect(error.code).toBe("invalid_request");
    expect(error.message).toMatch(rule);
  });
});

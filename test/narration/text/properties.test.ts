/**
 * Properties of every plan: it keeps the bounds, loses nothing, and an edit changes few parts. The random texts have a
 * seed, so that a failure can be repeated.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { estimateSeconds } from "../../../src/contract/estimate.ts";
import { countCodePoints } from "../../../src/contract/unicode.ts";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan, PlanRequest } from "../../../src/narration/text/plan-types.ts";

const ALICE = join(import.meta.dirname, "..", "..", "..", "assets", "alice-chapter-1.md");
const WORDS = readFileSync(ALICE, "utf8").match(/\p{L}+(?:’\p{L}+)?/gu) ?? [];

const plan = (text: string, more: Partial<PlanRequest> = {}): NarrationPlan =>
  planText({ text, format: "plain", speed: 1, pauseSeconds: 0.6, ...more });

/** Returns pseudo-random numbers from 0 to 1 that are the same in every run (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const upTo = (next: () => number, most: number): number => Math.floor(next() * most);

function sentence(next: () => number): string {
  const words = Array.from({ length: 4 + upTo(next, 24) }, () => WORDS[upTo(next, WORDS.length)] ?? "a");
  const [first = ""] = words;
  words[0] = first.charAt(0).toUpperCase() + first.slice(1);
  if (words.length > 8) words[5] = `${words[5]},`;
  return words.join(" ") + (next() < 0.8 ? "." : next() < 0.5 ? "?" : "!”");
}

/** Builds chapters of random sentences, of at least this many code points. */
function novel(seed: number, codePoints: number, chapterCodePoints = 12_000): string {
  const next = random(seed);
  let text = "";
  let chapter = 0;
  for (let left = 0; text.length < codePoints; ) {
    if (left <= 0) {
      chapter += 1;
      left = chapterCodePoints;
      text += `Chapter ${chapter}: ${sentence(next).slice(0, 30).trim()}!\n\n`;
    }
    const paragraph = Array.from({ length: 1 + upTo(next, 9) }, () => sentence(next)).join(" ");
    text += `${paragraph}\n\n`;
    left -= paragraph.length;
  }
  return text;
}

/** Strange and ordinary pieces of random texts: scripts, marks, breaks and symbols. */
const ODDITIES = [
  "Mr. ",
  "e.g. ",
  "。",
  "！",
  "「",
  "」",
  "…… ",
  "... ",
  "? ",
  ", ",
  "，",
  "、",
  "; ",
  ": ",
  "—",
  " — ",
  "\n",
  "\n\n",
  "\r\n",
  "\u2028",
  "\t",
  "  ",
  "\u3000",
  "\u00a0",
  "你好",
  "世界和平",
  "こんにちは",
  "カタカナ",
  "한국어 ",
  "émigré ",
  "e\u0301 ",
  "ﬁ ",
  "12,345.67 ",
  "３",
  "👩‍👩‍👧‍👦",
  "🇯🇵🇧🇷",
  "🎉 ",
  "a\u0300\u0301\u0302",
  "* * *",
  "_",
  "**",
  "<b>",
  "&copy;",
  "[^1]",
  "# ",
  "- ",
  "> ",
  "| a | b |",
  "`",
  "http://a.b/c ",
  "ANNA: ",
  "\u200b",
  "\ufeff",
  "\u00ad",
  "مرحبا ",
  "नमस्ते ",
  "ไทยไม่มีช่องว่าง",
  "x".repeat(50),
  "字".repeat(120),
];

function chaos(seed: number): string {
  const next = random(seed);
  const length = 1 + upTo(next, 1_500);
  const pick = (): string =>
    next() < 0.5 ? `${WORDS[upTo(next, WORDS.length)]} ` : (ODDITIES[upTo(next, ODDITIES.length)] ?? "");
  return `${Array.from({ length }, pick).join("")}End`;
}

/** Returns the spoken characters of a text, without white space. */
const spokenTextOf = (text: string): string =>
  text.normalize("NFC").replaceAll(/[\s\u00ad\ufeff\u200b\u2028]/g, "");
const lettersOf = (text: string): string => text.normalize("NFC").replaceAll(/[^\p{L}\p{N}]/gu, "");

describe("every plan", () => {
  it.each(Array.from({ length: 150 }, (_, seed) => seed))("keeps its bounds: text %i", (seed) => {
    const speed = [0.5, 1, 2][seed % 3] ?? 1;
    const format = seed % 2 === 0 ? "plain" : "markdown";
    const { parts, chapters } = plan(chaos(seed), { speed, format, speakers: { Anna: "felix_zh" } });
    for (const part of parts) {
      expect(countCodePoints(part.text)).toBeLessThanOrEqual(2048);
      expect(part.text).toBe(part.text.trim());
      expect(part.text).toBe(part.text.normalize("NFC"));
      expect(part.text).toMatch(/[\p{L}\p{N}]/u);
      expect(part.text.isWellFormed()).toBe(true);
      expect(part.estimatedSeconds).toBeCloseTo(estimateSeconds(part.text) / speed, 6);
      expect(part.estimatedSeconds).toBeLessThanOrEqual(90);
      expect(part.estimatedCredits).toBe(
        Math.min(150, Math.max(10, Math.ceil(1.25 * Math.ceil(part.estimatedSeconds)))),
      );
      expect(chapters[part.chapterIndex]).toBeDefined();
    }
    expect(parts.at(-1)?.pauseAfterSeconds).toBe(0);
    const order = parts.map(({ chapterIndex }) => chapterIndex);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  it.each(Array.from({ length: 60 }, (_, seed) => seed))("says each word once, in order: text %i", (seed) => {
    const text = chaos(1_000 + seed)
      .replaceAll(/http:\/\/a\.b\/c/g, "")
      .replaceAll("_", "");
    const spoken = plan(text).parts.map((part) => part.text);
    expect(lettersOf(spoken.join(""))).toBe(lettersOf(text));
  });

  it("contains the whole text: nothing is lost, doubled or changed", () => {
    const text = novel(3, 60_000);
    expect(
      spokenTextOf(
        plan(text)
          .parts.map((part) => part.text)
          .join(""),
      ),
    ).toBe(spokenTextOf(text));
    const wrapped = text.replaceAll(/(.{60,72}) /g, "$1\r\n");
    expect(plan(wrapped)).toEqual(plan(text));
    expect(plan(`\ufeff${text.normalize("NFD")}`)).toEqual(plan(text));
  });

  it("costs little more than its seconds, and has no part that is too short for the minimum charge", () => {
    const { parts } = plan(novel(4, 300_000, 1_000_000));
    const credits = parts.reduce((sum, { estimatedCredits }) => sum + estimatedCredits, 0);
    const seconds = parts.reduce((sum, { estimatedSeconds }) => sum + estimatedSeconds, 0);
    expect(credits / (1.25 * seconds)).toBeLessThan(1.02);
    expect(Math.min(...parts.slice(0, -1).map(({ estimatedSeconds }) => estimatedSeconds))).toBeGreaterThan(
      8,
    );
  });

  it("is made for 500,000 characters without any punctuation in well under 2.8 s", () => {
    const bare = novel(5, 520_000)
      .replaceAll(/[^\p{L} ]+/gu, " ")
      .slice(0, 500_000);
    for (const text of [bare, "字".repeat(500_000), "a".repeat(500_000)]) {
      const startCpuUsage = process.cpuUsage();
      expect(plan(text).parts.length).toBeGreaterThan(400);
      // Measure processor time, because other tests run at the same time.
      const { user, system } = process.cpuUsage(startCpuUsage);
      expect((user + system) / 1000).toBeLessThan(2_000);
    }
  });
});

/** Returns how many parts of the later plan are not in the earlier one. */
function newParts(before: NarrationPlan, after: NarrationPlan): number {
  const left = new Map<string, number>();
  for (const { text } of before.parts) left.set(text, (left.get(text) ?? 0) + 1);
  return after.parts.filter(({ text }) => {
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count <= 0;
  }).length;
}

describe("an edit", () => {
  const text = novel(1, 200_000, 1_000_000);
  const before = plan(text);

  it("to one word, two hundred times, cost three parts at most, and hardly more than one on average", () => {
    const next = random(7);
    const counts: number[] = [];
    while (counts.length < 200) {
      const found = /\p{L}{3,}/u.exec(text.slice(upTo(next, text.length)));
      if (found === null) continue;
      const at = text.length - (found.input.length - found.index);
      const word = ["lantern", "of", "", `${found[0]} extraordinarily`][upTo(next, 4)];
      const edited = text.slice(0, at) + word + text.slice(at + found[0].length);
      counts.push(newParts(before, plan(edited)));
    }
    const average = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    console.info(`one-word edits: ${average.toFixed(3)} of ${before.parts.length} parts are new on average`);
    expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    expect(average).toBeLessThan(1.2);
  });

  it("that moves a chapter costs nothing", () => {
    const chapters = novel(2, 100_000).split(/(?=^Chapter )/m);
    const moved = [...chapters.slice(1, 4), chapters[0], ...chapters.slice(4)];
    expect(chapters.length).toBeGreaterThan(6);
    expect(newParts(plan(chapters.join("")), plan(moved.join("")))).toBe(0);
  });

  it("that adds a paragraph at the beginning changes no later part", () => {
    expect(newParts(before, plan(`A new beginning, for once.\n\n${text}`))).toBeLessThanOrEqual(2);
  });
});

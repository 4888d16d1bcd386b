/** Measures planning a novel, and what an edit of one would pay for; in this process, since it asks nobody. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { NarrationPlan } from "../src/narration/plan/plan.ts";
import { planNarration } from "../src/narration/plan/plan-narration.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";

const NOVEL_CHARACTERS = 500_000;
const EDITED_CHARACTERS = 200_000;
const CHAPTER_CHARACTERS = 12_000;
const EDITS = 40;

const CHAPTER_ONE = join(import.meta.dirname, "..", "assets", "alice-chapter-1.md");
const SENTENCES = readFileSync(CHAPTER_ONE, "utf8")
  .split(/(?<=[.!?][’”]?)\s+/)
  .filter((sentence) => /^\p{Lu}/u.test(sentence));

/** The same text in every run: sentences of a novel in another order, paragraphs of 1 to 7, chapters. */
function novel(characters: number): string {
  let text = "";
  let chapter = 0;
  for (let index = 0; text.length < characters; index += 1) {
    if (text.length >= chapter * CHAPTER_CHARACTERS) {
      chapter += 1;
      text += `\n\nChapter ${chapter}\n\n`;
    }
    const sentence = SENTENCES[(index * 31 + chapter * 7) % SENTENCES.length] ?? "";
    text += `${sentence}${(index * index) % 7 < 2 ? "\n\n" : " "}`;
  }
  return text.trim();
}

const plan = (text: string): NarrationPlan =>
  planNarration({ text, format: "plain", speed: 1, pauseSeconds: 0.6, voices: {} });

/** Parts that only the second plan has: a part is paid for once, however often it is heard. */
function newParts(before: NarrationPlan, after: NarrationPlan): number {
  const paid = new Set(before.parts.map(({ text }) => text));
  return new Set(after.parts.map(({ text }) => text).filter((text) => !paid.has(text))).size;
}

export function benchPlanning(rounds: number): { samples: Sample[]; verdicts: Verdict[] } {
  const long = novel(NOVEL_CHARACTERS);
  const times = Array.from({ length: rounds + 1 }, () => {
    const beganAtMs = performance.now();
    plan(long);
    return performance.now() - beganAtMs;
  });
  const [first = Number.NaN, ...later] = times;
  const samples = [sample("the first of a process", "ms", [first]), sample("each after it", "ms", later)];
  printSamples(`Planning ${NOVEL_CHARACTERS.toLocaleString("en")} characters`, samples);

  const text = novel(EDITED_CHARACTERS);
  const before = plan(text);
  const edits = Array.from({ length: EDITS }, (_, index) => {
    const at = text.indexOf(" the ", Math.floor((index / EDITS) * text.length));
    return newParts(before, plan(`${text.slice(0, at)} another ${text.slice(at + " the ".length)}`));
  });
  const chapters = text.split(/(?=^Chapter )/m);
  const moved = [...chapters.slice(1, 4), `${chapters[0]?.trim()}\n\n`, ...chapters.slice(4)].join("");
  const characters = EDITED_CHARACTERS.toLocaleString("en");
  return {
    samples,
    verdicts: [
      atMost(
        "planning",
        `${NOVEL_CHARACTERS.toLocaleString("en")} characters`,
        samples[1]?.median ?? Number.NaN,
        50,
        " ms",
      ),
      atMost(
        "planning",
        `creates for a word edited in ${characters} characters, most of ${EDITS}`,
        Math.max(...edits),
        3,
      ),
      atMost(
        "planning",
        `creates for a chapter moved in ${characters} characters`,
        newParts(before, plan(moved)),
        0,
      ),
    ],
  };
}

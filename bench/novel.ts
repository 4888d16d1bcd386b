/** Owns the text whose planning is measured: the same in every run, made of the sentences of a real novel. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { NarrationPlan } from "../src/narration/plan/plan.ts";
import { planNarration } from "../src/narration/plan/plan-narration.ts";

const CHAPTER_CHARACTERS = 12_000;

const CHAPTER_ONE = join(import.meta.dirname, "..", "assets", "alice-chapter-1.md");
const SENTENCES = readFileSync(CHAPTER_ONE, "utf8")
  .split(/(?<=[.!?][’”]?)\s+/)
  .filter((sentence) => /^\p{Lu}/u.test(sentence));

/** Sentences in another order, with their emphasis, paragraphs of 1 to 7, chapters. */
export function novel(characters: number): string {
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

export function plan(text: string, format: "plain" | "markdown" = "plain"): NarrationPlan {
  return planNarration({ text, format, speed: 1, pauseSeconds: 0.6, voices: {} });
}

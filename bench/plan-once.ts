/**
 * Plans a novel of a given length as the first work of its process, and prints the time in milliseconds. Usage: `node
 * bench/plan-once.ts CHARACTERS WORK`. WORK is one of these words:
 *
 * - `plain`, `markdown`: plans the novel as a text of this format.
 * - `cues`: plans the novel as 5,000 cues of subtitles.
 * - `epub`: plans the novel as an EPUB of 10 MB.
 * - `library`: parses the novel with the Markdown library, and makes no plan.
 * - `cpu`: plans the novel as `plain` six times, and prints the median processor time of the last five plans.
 * - `memory`, `epub-memory`: plans the novel as `plain` or `epub`, and prints how many MiB of memory this adds.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { Lexer } from "marked";
import type { TextFormat } from "../src/files/input-format.ts";
import { parseEpub } from "../src/narration/books/parse-epub.ts";
import { planBlocks, planText } from "../src/narration/text/plan-text.ts";
import { planTimeline } from "../src/narration/timeline/plan-timeline.ts";
import { watchMemory } from "./resident.ts";

const CHAPTER_CHARACTERS = 12_000;

/**
 * Builds a text from the sentences of a real novel in another order, with paragraphs and chapters. Every run gets
 * the same text.
 */
function novel(characters: number): string {
  const chapterOne = join(import.meta.dirname, "..", "assets", "alice-chapter-1.md");
  const sentences = readFileSync(chapterOne, "utf8")
    .split(/(?<=[.!?][’”]?)\s+/)
    .filter((sentence) => /^\p{Lu}/u.test(sentence));
  let text = "";
  let chapter = 0;
  for (let index = 0; text.length < characters; index += 1) {
    if (text.length >= chapter * CHAPTER_CHARACTERS) {
      chapter += 1;
      text += `\n\nChapter ${chapter}\n\n`;
    }
    const sentence = sentences[(index * 31 + chapter * 7) % sentences.length] ?? "";
    text += `${sentence}${(index * index) % 7 < 2 ? "\n\n" : " "}`;
  }
  return text.trim();
}

/** Measures from before the novel is built, so the printed memory includes the novel. */
const memory = watchMemory("self");
const [characters = "", work = ""] = process.argv.slice(2);
const text = novel(Number(characters));
const plan = (format: TextFormat = "plain"): unknown =>
  planText({ text, format, speed: 1, pauseSeconds: 0.6, speakers: {} });

const CUES = 5000;

/** Splits the words of a text into cues of the same number of words, one every four seconds. */
function subtitles(words: readonly string[]): string {
  const perCue = Math.ceil(words.length / CUES);
  const clock = (cue: number): string => new Date(cue * 4000).toISOString().slice(11, 23);
  return Array.from(
    { length: CUES },
    (_, cue) =>
      `${clock(cue)} --> ${clock(cue + 0.9)}\n${words.slice(cue * perCue, (cue + 1) * perCue).join(" ")}\n`,
  ).join("\n");
}

/** Pictures make up most of a book's size. Random bytes stand for them, because they cannot be compressed. */
const PICTURE_BYTES = 9_700_000;

function epub(): Uint8Array {
  const pages = text.split(/\n\n(?=Chapter \d)/).map((chapter) => {
    const [title = "", ...paragraphs] = chapter.split("\n\n");
    return `<html><body><h1>${title}</h1>${paragraphs.map((words) => `<p>${words}</p>`).join("")}</body></html>`;
  });
  const items = pages.map(
    (_, page) => `<item id="p${page}" href="p${page}.xhtml" media-type="application/xhtml+xml"/>`,
  );
  const order = pages.map((_, page) => `<itemref idref="p${page}"/>`);
  const files: Record<string, Uint8Array> = {
    "META-INF/container.xml": strToU8(
      '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
    ),
    "book.opf": strToU8(
      `<package><metadata><title>A novel</title></metadata><manifest>${items.join("")}</manifest><spine>${order.join("")}</spine></package>`,
    ),
    "picture.jpg": randomBytes(PICTURE_BYTES),
  };
  for (const [page, html] of pages.entries()) files[`p${page}.xhtml`] = strToU8(html);
  return zipSync(files);
}

function planEpub(bytes: Uint8Array): void {
  planBlocks((unspoken) => parseEpub(bytes, unspoken), { speed: 1, pauseSeconds: 0.6, speakers: {} });
}

function elapsedMs(): number {
  if (work === "epub") {
    const book = epub();
    const begunAtMs = performance.now();
    planEpub(book);
    return performance.now() - begunAtMs;
  }
  const film = work === "cues" ? subtitles(text.split(/\s+/)) : "";
  const beganAtMs = performance.now();
  if (work === "cues") planTimeline({ text: film, kind: "vtt", speed: 1, voices: {} });
  else if (work === "library") new Lexer().lex(text);
  else plan(work === "markdown" ? "markdown" : "plain");
  return performance.now() - beganAtMs;
}

function furtherCpuMs(): number {
  plan();
  const times = Array.from({ length: 5 }, () => {
    const startCpuUsage = process.cpuUsage();
    plan();
    const { user, system } = process.cpuUsage(startCpuUsage);
    return (user + system) / 1000;
  });
  return times.sort((one, other) => one - other)[2] ?? 0;
}

function addedMiB(): number {
  if (work === "epub-memory") planEpub(epub());
  else plan();
  return memory.grownMiB();
}

const isMemory = work === "memory" || work === "epub-memory";
process.stdout.write(String(work === "cpu" ? furtherCpuMs() : isMemory ? addedMiB() : elapsedMs()));

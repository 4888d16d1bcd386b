/** Reads plain text: paragraphs between blank lines; line breaks inside them are there for the page's width. */
import type { ReadText, SourceBlock } from "./blocks.ts";
import { markChapters } from "./chapter-words.ts";
import { keepLines, paragraphsOf } from "./kept-lines.ts";
import { normaliseLines } from "./normalise.ts";
import { speakAddresses } from "./web-addresses.ts";

/** Emphasis as Project Gutenberg writes it; `snake_case` and `__init__` are none. */
const UNDERSCORES = /(?<![\p{L}\p{N}_])_(?=\S)([^_]{1,400}?)(?<=\S)_(?![\p{L}\p{N}_])/gu;

/** Reads plain text into blocks. */
export function readPlainText(text: string): ReadText {
  const paragraphs = keepLines(paragraphsOf(normaliseLines(text))).map((paragraph): SourceBlock => {
    const words = paragraph.includes("_") ? paragraph.replace(UNDERSCORES, "$1") : paragraph;
    return { kind: "paragraph", text: speakAddresses(words) };
  });
  return { blocks: markChapters(paragraphs), title: null, author: null };
}

/** Reads plain text: paragraphs between blank lines, rules between scenes, and chapter headings that cannot be mistaken. */

import type { SourceBlock } from "./blocks.ts";
import { type ChapterHeading, chapterHeading } from "./chapter-words.ts";
import { HARD_BREAK, normaliseLines } from "./normalise.ts";
import { speakAddresses } from "./web-addresses.ts";

type Part = { readonly lines: readonly string[]; readonly heading: ChapterHeading | null };

/** A heading that another of its own rank follows at once stands in a table of contents. */
function isListed(part: Part, next: Part | undefined): boolean {
  return part.heading !== null && next?.heading != null && next.heading.level <= part.heading.level;
}

/** @param text as it was given; line breaks inside a paragraph are soft */
export function readPlainText(text: string): SourceBlock[] {
  const parts: Part[] = normaliseLines(text)
    .split(/\n\s*\n/)
    .map((block) =>
      block
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== ""),
    )
    .filter((lines) => lines.length > 0)
    .map((lines) => ({ lines, heading: chapterHeading(lines) }));
  const blocks: SourceBlock[] = [];
  for (const [index, part] of parts.entries()) {
    const { lines, heading } = part;
    const isHeading = heading !== null && !isListed(part, parts[index + 1]) && index < parts.length - 1;
    if (isHeading) blocks.push({ kind: "heading", level: heading.level, text: lines.join(HARD_BREAK) });
    else blocks.push({ kind: "paragraph", text: speakAddresses(lines.join("\n")) });
  }
  return blocks;
}

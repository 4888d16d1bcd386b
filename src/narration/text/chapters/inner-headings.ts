/**
 * Separates chapter headings from text that follows without a blank line. Evidence: form (a word for chapters with its
 * number, after the end of a sentence) and sequence (at least two such headings with text below). A single line below a
 * heading is the title, and stays with the heading. Lines of a table of contents stay together.
 */
import { ENDS_SENTENCE, hasWords, isBlank, isCjk } from "../characters.ts";
import { type ChapterForm, parseChapterForm } from "./chapter-forms.ts";

const MAX_HEADING_CODE_UNITS = 80;
const MIN_HEADINGS = 2;
const BEGINS_HEADING = /^\s*[\p{Lu}\p{Lo}\d]/u;

/** Parses a line with a word for chapters; `null` for any other line. */
function parseHeading(line: string): ChapterForm | null {
  if (line.length > MAX_HEADING_CODE_UNITS || !BEGINS_HEADING.test(line)) return null;
  const form = parseChapterForm(line);
  return form?.kind === "known" ? form : null;
}

/**
 * Whether a line is a chapter heading without a title, and the last line of a paragraph with several lines. For
 * example, an ebook from the web may have the name of the website directly above the heading `第三章`.
 */
function closesParagraph(lines: readonly string[], lineIndex: number): boolean {
  const [above, line = "", below] = [lines[lineIndex - 1], lines[lineIndex], lines[lineIndex + 1]];
  if (above === undefined || isBlank(above) || !isBlank(below) || parseHeading(line)?.hasTitle !== false)
    return false;
  return isCjk(line.trim().charAt(0)) || ENDS_SENTENCE.test(above) || !hasWords(above);
}

/**
 * Whether a line and the line below it belong to one sentence: the line below begins with a small letter, or the first
 * line had no room for the first word of the line below.
 */
function continuesBelow(lines: readonly string[], lineIndex: number): boolean {
  const [line = "", below = "", next = ""] = lines.slice(lineIndex, lineIndex + 3);
  const [word = ""] = below.trim().split(" ");
  return /^\p{Ll}/u.test(word) || line.length + 1 + word.length > Math.max(below.length, next.length);
}

/**
 * Puts blank lines around headings that stand directly above or below other text.
 *
 * @param text with `\n` for line ends
 */
export function separateHeadings(text: string): string {
  const lines = text.split("\n");
  const isHeading = (index: number): boolean => parseHeading(lines[index] ?? "") !== null;
  const found = new Set<number>();
  const closing = new Set<number>();
  for (let lineIndex = 0; lineIndex < lines.length; lineIndex += 1) {
    const above = lines[lineIndex - 1];
    if (closesParagraph(lines, lineIndex)) closing.add(lineIndex);
    const isApart = isBlank(above) || ENDS_SENTENCE.test(above ?? "");
    if (!isApart || isBlank(lines[lineIndex + 1]) || isBlank(lines[lineIndex + 2])) continue;
    const isAlone = isHeading(lineIndex) && ![lineIndex - 1, lineIndex + 1, lineIndex + 2].some(isHeading);
    if (isAlone && !continuesBelow(lines, lineIndex)) found.add(lineIndex);
  }
  if (closing.size >= MIN_HEADINGS) for (const index of closing) found.add(index);
  if (found.size < MIN_HEADINGS) return text;
  return lines.map((line, lineIndex) => (found.has(lineIndex) ? `\n${line}\n` : line)).join("\n");
}

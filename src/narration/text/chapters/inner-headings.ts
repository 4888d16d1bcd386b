/**
 * Separates chapter headings from text that follows without a blank line. Evidence: form (a word for chapters with its
 * number, after the end of a sentence) and sequence (at least two such headings with text below). A single line below a
 * heading is the title, and stays with the heading. Lines of a table of contents stay together.
 */
import { ENDS_SENTENCE, hasWords, isCjk } from "../characters.ts";
import { parseChapterForm } from "./chapter-forms.ts";

const MAX_HEADING_CODE_UNITS = 80;
const MIN_HEADINGS = 2;
const BEGINS_HEADING = /^\s*[\p{Lu}\p{Lo}\d]/u;

const isBlank = (line: string | undefined): boolean => line === undefined || !/\S/.test(line);

/**
 * Whether a line is a chapter heading without a title, and the last line of a paragraph with several lines. For
 * example, an ebook from the web may have the name of the website directly above the heading `第三章`.
 */
function closesParagraph(lines: readonly string[], lineIndex: number): boolean {
  const [above, line = "", below] = [lines[lineIndex - 1], lines[lineIndex], lines[lineIndex + 1]];
  if (isBlank(above) || !isBlank(below) || line.length > MAX_HEADING_CODE_UNITS || !BEGINS_HEADING.test(line))
    return false;
  const form = parseChapterForm(line);
  const isApart = isCjk(line.trim().charAt(0)) || ENDS_SENTENCE.test(above ?? "") || !hasWords(above ?? "");
  return form?.kind === "known" && !form.hasTitle && isApart;
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
  const isHeading = (index: number): boolean => {
    const line = lines[index] ?? "";
    if (line.length > MAX_HEADING_CODE_UNITS || !BEGINS_HEADING.test(line)) return false;
    return parseChapterForm(line)?.kind === "known";
  };
  const found = new Set<number>();
  const closing = new Set<number>();
  for (let lineIndex = 0; lineIndex < lines.length; lineIndex += 1) {
    const above = lines[lineIndex - 1];
    if (closesParagraph(lines, lineIndex)) closing.add(lineIndex);
    if (
      isBlank(lines[lineIndex + 1]) ||
      isBlank(lines[lineIndex + 2]) ||
      !(isBlank(above) || ENDS_SENTENCE.test(above ?? ""))
    )
      continue;
    if (continuesBelow(lines, lineIndex)) continue;
    if (isHeading(lineIndex) && ![lineIndex - 1, lineIndex + 1, lineIndex + 2].some(isHeading))
      found.add(lineIndex);
  }
  if (closing.size >= MIN_HEADINGS) for (const index of closing) found.add(index);
  if (found.size < MIN_HEADINGS) return text;
  return lines.map((line, lineIndex) => (found.has(lineIndex) ? `\n${line}\n` : line)).join("\n");
}

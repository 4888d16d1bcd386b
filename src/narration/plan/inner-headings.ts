/**
 * Separates chapter headings from text that follows without a blank line. Evidence: form (a word for
 * chapters with its number, behind the end of a sentence) and sequence, at least two with text below. A heading with one
 * more line, its title, stays as it is, and so do lines of a table of contents.
 */
import { formOf } from "./chapter-forms.ts";
import { collapseSpaces } from "./normalise.ts";

const HEADING_MAX_UNITS = 80;
const MIN_HEADINGS = 2;
const ENDS_SENTENCE = /[.!?…。！？][”’"'»」』)）]*\s*$/;
const BEGINS = /^\s*[\p{Lu}\p{Lo}\d]/u;

const isBlank = (line: string | undefined): boolean => line === undefined || !/\S/.test(line);

/** Whether the line below goes on with the sentence, because its first word had no room on this line. */
function goesOn(lines: readonly string[], at: number): boolean {
  const [line = "", below = "", next = ""] = lines.slice(at, at + 3);
  const [word = ""] = below.trim().split(" ");
  return /^\p{Ll}/u.test(word) || line.length + 1 + word.length > Math.max(below.length, next.length);
}

/** @param text with `\n` for line ends */
export function setHeadingsApart(text: string): string {
  const lines = text.split("\n");
  const isHeading = (at: number): boolean => {
    const line = lines[at] ?? "";
    if (line.length > HEADING_MAX_UNITS || !BEGINS.test(line)) return false;
    return formOf(collapseSpaces(line).trim())?.kind === "known";
  };
  const found = new Set<number>();
  for (let at = 0; at < lines.length; at += 1) {
    const above = lines[at - 1];
    if (
      isBlank(lines[at + 1]) ||
      isBlank(lines[at + 2]) ||
      !(isBlank(above) || ENDS_SENTENCE.test(above ?? ""))
    )
      continue;
    if (goesOn(lines, at)) continue;
    if (isHeading(at) && ![at - 1, at + 1, at + 2].some(isHeading)) found.add(at);
  }
  if (found.size < MIN_HEADINGS) return text;
  return lines.map((line, at) => (found.has(at) ? `\n${line}\n` : line)).join("\n");
}

/**
 * Finds the title of a narration: the title that the text states, otherwise the first heading, otherwise the first
 * words. Evidence: form. A heading with a chapter number names the book only if it is the only heading.
 */
import { takeFirstCodePoints } from "../../contract/unicode.ts";
import { parseChapterForm } from "./chapters/chapter-forms.ts";
import type { NarrationPlan } from "./plan-types.ts";

const MAX_CODE_POINTS = 80;

const isChapter = (title: string): boolean => parseChapterForm(title.replace(/\s+/g, " ")) !== null;

/** Returns the beginning of a text, cut at the end of a word if possible. */
function takeFirstWords(text: string): string {
  const [line = ""] = text.split(/\n\n/);
  const flat = line.replace(/\s+/g, " ").trim();
  const head = takeFirstCodePoints(flat, MAX_CODE_POINTS);
  if (head === flat) return flat;
  const words = /^(.*[^\s,;:–—-])[\s,;:–—-]+\S*$/u.exec(head)?.[1];
  return words ?? head;
}

/** Returns one line of at most 80 code points; empty if the text has no usable beginning. */
export function chooseNarrationTitle({ title, chapters, parts }: NarrationPlan): string {
  const headings = chapters.flatMap(({ title: heading }) => (heading === null ? [] : [heading]));
  const [heading] = headings;
  if (title !== undefined) return takeFirstWords(title);
  if (heading !== undefined && (headings.length === 1 || !isChapter(heading))) return takeFirstWords(heading);
  const [first] = parts;
  const text = first?.text ?? "";
  // Skip the heading of the first chapter.
  const prose =
    first !== undefined && chapters[first.chapterIndex]?.title === null
      ? text
      : text.replace(/^[^\n]*(?:\n[^\n]+)*\n\n/, "");
  return takeFirstWords(prose);
}

/**
 * Finds the title of a narration: the title that the text states, otherwise the first heading, otherwise the first
 * words. Evidence: form. A heading with a chapter number names the book only if it is the only heading. A heading above
 * the first chapter's own names the book without it.
 */
import { takeFirstCodePoints } from "../../contract/unicode.ts";
import { parseChapterForm } from "./chapters/chapter-forms.ts";
import type { NarrationPlan } from "./plan-types.ts";

const MAX_CODE_POINTS = 80;

/** Returns the beginning of a text, cut at the end of a word if possible. */
function takeFirstWords(text: string): string {
  const [line = ""] = text.split(/\n\n/);
  const flat = line.replace(/\s+/g, " ").trim();
  const head = takeFirstCodePoints(flat, MAX_CODE_POINTS);
  if (head === flat) return flat;
  const words = /^(.*[^\s,;:–—-])[\s,;:–—-]+\S*$/u.exec(head)?.[1];
  return words ?? head;
}

/** Returns the heading above the first chapter's own if the two were joined; otherwise the heading as it is. */
function withoutOwnHeading(heading: string, parts: NarrationPlan["parts"]): string {
  const [above = ""] = parts[0]?.text.split("\n\n") ?? [];
  const line = above.replace(/\s+/g, " ").trim();
  const own = heading.slice(line.length).replace(/^: /, "").trim();
  return heading.startsWith(line) && parseChapterForm(own) !== null ? line : heading;
}

/** Returns one line of at most 80 code points; empty if the text has no usable beginning. */
export function chooseNarrationTitle({ title, chapters, parts }: NarrationPlan): string {
  const headings = chapters.flatMap(({ title: heading }) => (heading === null ? [] : [heading]));
  const [first] = headings;
  const heading = first === undefined ? undefined : withoutOwnHeading(first, parts);
  if (title !== undefined) return takeFirstWords(title);
  if (heading !== undefined && (headings.length === 1 || parseChapterForm(heading) === null))
    return takeFirstWords(heading);
  const [firstPart] = parts;
  const text = firstPart?.text ?? "";
  // Skip the heading of the first chapter.
  const prose =
    firstPart !== undefined && chapters[firstPart.chapterIndex]?.title === null
      ? text
      : text.replace(/^[^\n]*(?:\n[^\n]+)*\n\n/, "");
  return takeFirstWords(prose);
}

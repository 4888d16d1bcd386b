/**
 * Finds the title of a narration: stated in the text, else the first heading, else the first words. Evidence: form.
 * A heading with a chapter's number names the book only where it is the only one.
 */
import { firstCodePoints } from "../../contract/unicode.ts";
import { formOf } from "./chapter-forms.ts";
import type { NarrationPlan } from "./plan.ts";

const MAX_CODE_POINTS = 80;

const isChapter = (title: string): boolean => formOf(title.replace(/\s+/g, " ")) !== null;

/** The beginning of a text, cut at the end of a word where there is one. */
function beginningOf(text: string): string {
  const [line = ""] = text.split(/\n\n/);
  const flat = line.replace(/\s+/g, " ").trim();
  const head = firstCodePoints(flat, MAX_CODE_POINTS);
  if (head === flat) return flat;
  const words = /^(.*[^\s,;:–—-])[\s,;:–—-]+\S*$/u.exec(head)?.[1];
  return words ?? head;
}

/** One line of at most 80 code points; empty where the text begins with nothing that could be a name. */
export function titleOf({ title, sections, parts }: NarrationPlan): string {
  const headings = sections.flatMap(({ title: heading }) => (heading === null ? [] : [heading]));
  const [heading] = headings;
  if (title !== undefined) return beginningOf(title);
  if (heading !== undefined && (headings.length === 1 || !isChapter(heading))) return beginningOf(heading);
  const [first] = parts;
  const text = first?.text ?? "";
  // Below the first chapter's heading the story begins.
  const prose =
    first !== undefined && sections[first.section]?.title === null
      ? text
      : text.replace(/^[^\n]*(?:\n[^\n]+)*\n\n/, "");
  return beginningOf(prose);
}

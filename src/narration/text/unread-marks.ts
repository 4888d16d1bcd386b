/** Finds marks in a text that `narrate` reads as what they are, and that a single request gets as they stand. */
import { hasMarkdown } from "./markdown/markdown-signs.ts";
import { normalizeLines } from "./normalize.ts";

const TAG = /<\/?[a-z][a-z0-9:-]{0,30}(?:\s[^<>\n]{0,100})?\/?>/gi;
/** Words in square brackets, which are no link of Markdown. Numbers in brackets are notes. */
const DIRECTION = /\[\p{L}[^[\]\n]{0,60}\](?![([:])/gu;
const LABEL_IN_CAPITALS = /^\p{Lu}[\p{Lu}\p{N} .'’-]{1,30}[:：](?=\s*\S)/gmu;
const LABELS = /^\p{Lu}[\p{L}\p{N}'’-]{1,30}[:：](?=\s*\S)/gmu;

/** Returns the first mark of each kind: a tag, a direction, the name of a speaker, Markdown. */
export function listUnreadMarks(givenText: string): string[] {
  const text = normalizeLines(givenText);
  const labels = text.match(LABELS) ?? [];
  const [label = labels.length > 1 ? labels[0] : undefined] = text.match(LABEL_IN_CAPITALS) ?? [];
  const marks = [text.match(TAG)?.[0], text.match(DIRECTION)?.[0], label].filter(
    (mark) => mark !== undefined,
  );
  const shown = marks.map((mark) => JSON.stringify(mark));
  return hasMarkdown(text.replaceAll(TAG, "")) ? [...shown, "Markdown"] : shown;
}

/** Finds marks in a text that `narrate` reads as what they are, and that a single request gets as they stand. */
import { hasMarkdown } from "./markdown/markdown-signs.ts";
import { normalizeLines } from "./normalize.ts";

const TAG = /<\/?[a-z][a-z0-9:-]{0,30}(?:\s[^<>\n]{0,100})?\/?>/i;
/** Words in square brackets, which are no link of Markdown. Numbers in brackets are notes. */
const DIRECTION = /\[\p{L}[^[\]\n]{0,60}\](?![([:])/u;
const LABEL_IN_CAPITALS = /^\p{Lu}[\p{Lu}\p{N} .'’-]{1,30}[:：](?=\s*\S)/mu;
const LABELS = /^\p{Lu}[\p{L}\p{N}'’-]{1,30}[:：](?=\s*\S)/gmu;

/** Returns the first mark of each kind: a tag, a direction, the name of a speaker, Markdown. */
export function listUnreadMarks(givenText: string): string[] {
  const text = normalizeLines(givenText);
  const tag = TAG.exec(text)?.[0];
  const labels = text.match(LABELS) ?? [];
  const label = LABEL_IN_CAPITALS.exec(text)?.[0] ?? (labels.length > 1 ? labels[0] : undefined);
  const marks = [tag, DIRECTION.exec(text)?.[0], label].flatMap((mark) =>
    mark === undefined ? [] : [JSON.stringify(mark)],
  );
  return hasMarkdown(tag === undefined ? text : text.replaceAll(new RegExp(TAG, "gi"), ""))
    ? [...marks, "Markdown"]
    : marks;
}

/**
 * Joins numbers of chapters with the titles in the paragraphs below them. Evidence: share (at least three quarters of
 * the numbers of one form have such a title).
 */
import type { SourceBlock } from "../blocks.ts";
import { HARD_BREAK } from "../normalize.ts";
import { parseChapterForm } from "./chapter-forms.ts";

const MAX_TITLE_CODE_UNITS = 100;
/**
 * Minimum share of the numbers that have a title in the next paragraph. With a smaller share, a short paragraph after a
 * number counts as the beginning of the chapter's text.
 */
const TITLES_BELOW_SHARE = 0.75;
const MIN_TITLES_BELOW = 3;
/**
 * Matches the punctuation of sentences, which titles do not have: a final mark such as `?`, a full stop between two
 * sentences, or a colon before other words. A final `.` does not match, because titles in old books end with a full
 * stop.
 */
const SENTENCE_MARK = /[!?…。！？:：,;][”’"'»」』)）]*$|[a-z]{3}\. \p{Lu}|[:：]\s*\S/u;
const QUOTED_SPEECH = /^["“«„「『—–].*[.。][”’"'»」』]?$/;

/** Whether a paragraph is one short line, in capitals or without the marks of a sentence. */
function isTitle(block: SourceBlock | undefined): boolean {
  if (block?.kind !== "paragraph") return false;
  const text = block.text.trim();
  if (text === "" || text.length > MAX_TITLE_CODE_UNITS || text.includes(HARD_BREAK)) return false;
  const isInCapitals = /\p{Lu}/u.test(text) && !/\p{Ll}/u.test(text);
  return (
    isInCapitals ||
    (/^["“«„「『]?[\p{Lu}\p{Lo}\d]/u.test(text) && !QUOTED_SPEECH.test(text) && !SENTENCE_MARK.test(text))
  );
}

/** Joins each heading without a title, such as `Chapter 4`, with the title in the paragraph below the heading. */
export function joinTitlesBelow(blocks: readonly SourceBlock[]): SourceBlock[] {
  const bare = blocks.flatMap((block, blockIndex) => {
    const form = block.kind === "heading" ? parseChapterForm(block.text) : null;
    return form?.hasTitle === false ? [{ index: blockIndex, key: form.key }] : [];
  });
  const isAbove = new Set<number>();
  for (const same of Map.groupBy(bare, ({ key }) => key).values()) {
    const titled = same.filter(({ index }) => isTitle(blocks[index + 1]) && blocks[index + 2] !== undefined);
    if (titled.length < Math.max(MIN_TITLES_BELOW, TITLES_BELOW_SHARE * same.length)) continue;
    for (const { index } of titled) isAbove.add(index);
  }
  return blocks.flatMap((block, blockIndex) => {
    if (isAbove.has(blockIndex - 1)) return [];
    const title = blocks[blockIndex + 1];
    if (!isAbove.has(blockIndex) || block.kind !== "heading" || title?.kind !== "paragraph") return [block];
    return [{ ...block, text: `${block.text}${HARD_BREAK}${title.text.trim()}` }];
  });
}

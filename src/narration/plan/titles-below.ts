/**
 * Joins numbers with the titles in the paragraphs below them. Evidence: share. Three of four numbers of one form have
 * such a title.
 */
import type { SourceBlock } from "./blocks.ts";
import { formOf } from "./chapter-forms.ts";
import { collapseSpaces, HARD_BREAK } from "./normalise.ts";

const TITLE_MAX_UNITS = 100;
/** Share of the headings without a title that must have one below, so that a short first paragraph is none. */
const TITLES_BELOW_SHARE = 0.75;
const MIN_TITLES_BELOW = 3;
/** Old books end titles with a full stop; one inside of the line is between two sentences. */
const SENTENCE = /[!?…。！？:：,;][”’"'»」』)）]*$|[a-z]{3}\. \p{Lu}/u;
const SPOKEN = /^["“«„「『—–].*[.。][”’"'»」』]?$/;

/** Whether a paragraph is one short line in capitals, or one that is no question and no speech. */
function isTitle(block: SourceBlock | undefined): boolean {
  if (block?.kind !== "paragraph") return false;
  const text = block.text.trim();
  if (text === "" || text.length > TITLE_MAX_UNITS || text.includes(HARD_BREAK)) return false;
  const isInCapitals = /\p{Lu}/u.test(text) && !/\p{Ll}/u.test(text);
  return (
    isInCapitals || (/^["“«„「『]?[\p{Lu}\p{Lo}\d]/u.test(text) && !SPOKEN.test(text) && !SENTENCE.test(text))
  );
}

/** Joins numbers without a title with the titles that stand in the paragraphs below them. */
export function joinTitlesBelow(blocks: readonly SourceBlock[]): SourceBlock[] {
  const bare = blocks.flatMap((block, at) => {
    const form = block.kind === "heading" ? formOf(collapseSpaces(block.text)) : null;
    return form?.hasTitle === false ? [{ at, key: form.key }] : [];
  });
  const isAbove = new Set<number>();
  for (const same of Map.groupBy(bare, ({ key }) => key).values()) {
    const titled = same.filter(({ at }) => isTitle(blocks[at + 1]) && blocks[at + 2] !== undefined);
    if (titled.length < Math.max(MIN_TITLES_BELOW, TITLES_BELOW_SHARE * same.length)) continue;
    for (const { at } of titled) isAbove.add(at);
  }
  return blocks.flatMap((block, at) => {
    if (isAbove.has(at - 1)) return [];
    const title = blocks[at + 1];
    if (!isAbove.has(at) || block.kind !== "heading" || title?.kind !== "paragraph") return [block];
    return [{ ...block, text: `${block.text}${HARD_BREAK}${title.text.trim()}` }];
  });
}

/**
 * Leaves out contents, indexes and notes, with the headings that have nothing else below them. Evidence: sequence. An
 * entry of contents is a link to another place with at most numbers around it; an entry of an index ends in linked page
 * numbers.
 */
import { getBlockText, type UnspokenList } from "../text/blocks.ts";
import { parseChapterForm } from "../text/chapters/chapter-forms.ts";
import { CONTENTS_TITLES } from "../text/chapters/chapter-words.ts";
import { parseNumeral } from "../text/chapters/numerals.ts";
import { deriveTitleKey } from "../text/chapters/unnumbered-titles.ts";
import { ENDS_SENTENCE, hasWords } from "../text/characters.ts";
import { collapseSpaces } from "../text/normalize.ts";
import type { UnspokenKind } from "../text/unspoken-kinds.ts";
import type { PageBlock } from "./page-block.ts";

const MIN_ENTRIES = 5;
/** Minimum number of entries if all have numbers of chapters or pages. */
const MIN_NUMBERED_ENTRIES = 3;
const MAX_ENTRY_CODE_UNITS = 300;
/** Between two entries, and between a heading and the first entry, there may be lines such as `PART ONE` or `PAGE`. */
const MAX_LINES_BETWEEN = 2;
const MAX_LINE_CODE_UNITS = 60;

const PAGE_NUMBER = /[\s.·…‥,，、:：|()（）–—-]*\d{0,4}\s*$/;
const PAGE_NUMBERS = /^[\s\d,;.–—\-ivxlcn&()]*\d[\s\d,;.–—\-ivxlcn&()]*$/i;

function isNumber(text: string): boolean {
  const words = collapseSpaces(text).replace(PAGE_NUMBER, "");
  return !/\p{L}/u.test(words) || parseNumeral(words) !== null || parseChapterForm(words)?.hasTitle === false;
}

type Entry = "none" | "plain" | "numbered";

function judgeEntry({ block, linked, unlinked }: PageBlock): Entry {
  const text = getBlockText(block);
  if (block.kind !== "paragraph" || text.length > MAX_ENTRY_CODE_UNITS || !hasWords(linked)) return "none";
  if (isNumber(unlinked)) {
    return hasWords(unlinked) || parseChapterForm(linked) !== null ? "numbered" : "plain";
  }
  // A linked number may stand before its title: `CHAPTER II. The Pool`.
  const isLinkedNumber =
    parseChapterForm(linked)?.hasTitle === false && /^[\s\p{P}]*[^\s\p{P}\p{Ll}]/u.test(unlinked);
  if (isLinkedNumber && !ENDS_SENTENCE.test(unlinked)) return "numbered";
  const isOfIndex = PAGE_NUMBERS.test(linked) && /\d[\s)]*$/.test(text) && !ENDS_SENTENCE.test(unlinked);
  return isOfIndex ? "plain" : "none";
}

const isLine = ({ block }: PageBlock): boolean =>
  block.kind !== "paragraph" || (block.text.length <= MAX_LINE_CODE_UNITS && !ENDS_SENTENCE.test(block.text));

/** Returns the blocks that are contents or an index, as pairs of the first and last index. */
function findListings(blocks: readonly PageBlock[]): ReadonlyArray<readonly [first: number, last: number]> {
  const listings: Array<readonly [number, number]> = [];
  let entries: number[] = [];
  let isNumbered = true;
  const end = (): void => {
    const [first, last] = [entries[0], entries.at(-1)];
    if (
      first !== undefined &&
      last !== undefined &&
      entries.length >= (isNumbered ? MIN_NUMBERED_ENTRIES : MIN_ENTRIES)
    ) {
      let start = first;
      while (first - start < MAX_LINES_BETWEEN && blocks.slice(start - 1, start).some(isLine)) {
        start -= 1;
        if (blocks[start]?.block.kind === "heading") break;
      }
      const above = blocks[first - 1]?.block;
      const isNamed = above?.kind === "paragraph" && CONTENTS_TITLES.has(deriveTitleKey(above.text));
      if (isNamed) listings.push([first - 1, last]);
      else listings.push([blocks[start]?.block.kind === "heading" ? start + 1 : first, last]);
    }
    entries = [];
    isNumbered = true;
  };
  for (const [index, block] of blocks.entries()) {
    const entry = judgeEntry(block);
    if (entry === "none" && (!isLine(block) || index - (entries.at(-1) ?? index) > MAX_LINES_BETWEEN)) end();
    if (entry === "none") continue;
    entries.push(index);
    isNumbered &&= entry === "numbered";
  }
  end();
  return listings;
}

const TEXT_LEVEL = 7;

/** Removes contents, indexes and notes from the blocks of a page, and reports them. */
export function withoutBookMatter(blocks: readonly PageBlock[], unspoken: UnspokenList): PageBlock[] {
  const kinds: Array<UnspokenKind | null> = blocks.map(({ unspokenAs }) => unspokenAs ?? null);
  for (const [first, last] of findListings(blocks)) kinds.fill("book_matter", first, last + 1);
  let keptLevel = 0;
  let kindBelow: UnspokenKind | null = null;
  for (let index = blocks.length - 1; index >= 0; index -= 1) {
    const { block } = blocks[index] ?? {};
    if (kinds[index] !== null) kindBelow = kinds[index] ?? null;
    else if (block?.kind === "paragraph") keptLevel = TEXT_LEVEL;
    else if (block?.kind === "heading" && keptLevel <= block.level && kindBelow !== null)
      kinds[index] = kindBelow;
    else if (block?.kind === "heading") [keptLevel, kindBelow] = [block.level, null];
  }
  let listing = "";
  const report = (): void => {
    if (hasWords(listing)) unspoken.add("book_matter", listing);
    listing = "";
  };
  const kept = blocks.filter(({ block }, index) => {
    const kind = kinds[index] ?? null;
    if (kind === "book_matter") listing += `${getBlockText(block)} `;
    else report();
    if (kind === "footnote" && block.kind === "paragraph") unspoken.add("footnote", block.text);
    if (kind === "navigation" && getBlockText(block) !== "") unspoken.add("navigation", getBlockText(block));
    return kind === null;
  });
  report();
  return kept;
}

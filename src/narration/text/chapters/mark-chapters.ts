/** Finds chapter headings in a text without markup, if they cannot be mistaken for sentences. */
import type { SourceBlock } from "../blocks.ts";
import { collapseSpaces, HARD_BREAK } from "../normalize.ts";
import { type ChapterForm, LEVEL, parseChapterForm } from "./chapter-forms.ts";
import { ChapterSequences } from "./chapter-sequences.ts";
import { ACT_WORDS, UNNUMBERED_HEADINGS } from "./chapter-words.ts";
import { joinTitlesBelow } from "./titles-below.ts";
import { deriveTitleKey, NO_TITLES, type UnnumberedTitles } from "./unnumbered-titles.ts";

const MAX_HEADING_CODE_UNITS = 100;

const UNNUMBERED_HEADING = new RegExp(`^(?:${[...UNNUMBERED_HEADINGS].join("|")})[.:。：]?$`, "i");

/** Punctuation marks that cannot end a chapter title. */
const NO_TITLE_END = /[.。…,，;；:：]$/;

function parseHeadingLine(
  line: string,
  form: ChapterForm | null,
): { readonly level: number; readonly title: string } | null {
  if (line.length > MAX_HEADING_CODE_UNITS) return null;
  if (UNNUMBERED_HEADING.test(line)) return { level: LEVEL.chapter, title: "" };
  if (form?.kind !== "known" || form.markedTitle === null) return null;
  return NO_TITLE_END.test(form.markedTitle) ? null : { level: form.level, title: form.markedTitle };
}

/**
 * Matches a paragraph with a long first line, as most paragraphs have. Such a paragraph is not a heading and needs no
 * further check.
 */
const LONG_FIRST_LINE = new RegExp(`^[^\\n\\u2028]{${MAX_HEADING_CODE_UNITS}}\\S`);

/** Returns the level of a heading of one line, or of two with the title below the number; `null` for any other text. */
function findHeadingLevel(text: string, form: ChapterForm | null): number | null {
  if (LONG_FIRST_LINE.test(text.trimStart())) return null;
  const [first = "", second, third] = text
    .trim()
    .split(/[\n\u2028]\s*/, 3)
    .map(collapseSpaces);
  const heading = parseHeadingLine(first, second === undefined ? form : parseChapterForm(first));
  if (heading === null || third !== undefined) return null;
  if (second === undefined) return heading.level;
  const isTitle =
    heading.title === "" && second.length <= MAX_HEADING_CODE_UNITS && !NO_TITLE_END.test(second);
  return isTitle ? heading.level : null;
}

/** Joins the lines of a heading. If the first line contains only the number, the line break below it is kept. */
function buildHeadingText(text: string): string {
  const [first = "", ...more] = text.trim().split(/[\n\u2028]\s*/);
  if (more.length === 0) return first;
  const isNumberAlone =
    UNNUMBERED_HEADING.test(collapseSpaces(first)) || parseChapterForm(first)?.hasTitle === false;
  return isNumberAlone ? `${first}${HARD_BREAK}${more.join("\n")}` : [first, ...more].join("\n");
}

/**
 * Matches the {@link ChapterForm.key} of an act. In a text that numbers only its books, titles without a number may
 * name chapters. In a text with acts they do not, because acts contain scenes. Therefore, a text with acts counts as a
 * text with numbered chapters, in which titles without a number name no chapters.
 */
const ENDS_WITH_ACT = new RegExp(` (?:${[...ACT_WORDS].join("|")})$`);

/** Returns the last position of each title. An earlier occurrence is an entry of a table of contents. */
function findLastOccurrences(
  blocks: readonly SourceBlock[],
  { keys }: UnnumberedTitles,
): ReadonlySet<number> {
  const last = new Map<string, number>();
  for (const [blockIndex, block] of blocks.entries()) {
    if (keys.size === 0 || block.kind !== "paragraph" || block.text.length > 2 * MAX_HEADING_CODE_UNITS)
      continue;
    const key = deriveTitleKey(block.text);
    if (keys.has(key)) last.set(key, blockIndex);
  }
  return new Set(last.values());
}

/**
 * Returns the level of a heading. If no heading of the text has a word such as "Chapter", bare numbers have the level
 * of chapters, and decimal numbers are one level below chapters.
 */
const levelOfHeading = ({ kind, level }: ChapterForm, hasWord: boolean): number =>
  kind === "bare" && !hasWord ? level - 1 : level;

/**
 * Turns paragraphs into headings. A heading directly above another heading of the same or a higher level is an entry of
 * a table of contents, and stays a paragraph. A heading at the end of the text stays a paragraph, too.
 *
 * @param titles titles without a number; in a text with numbered chapters, only titles from a table of contents are
 *   used
 */
export function markChapters(
  blocks: readonly SourceBlock[],
  titles: UnnumberedTitles = NO_TITLES,
): SourceBlock[] {
  const { forms: formsByIndex, headings: sequence, contentsEntries, contents } = new ChapterSequences(blocks);
  const forms = [...sequence.values()];
  const hasWord = forms.some(({ kind }) => kind !== "bare");
  const hasChapters = forms.some(({ level, key }) => level > 1 || ENDS_WITH_ACT.test(key));
  const titled = findLastOccurrences(blocks, hasChapters && !titles.areFromContents ? NO_TITLES : titles);
  const levels = blocks.map((block, index) => {
    if (block.kind !== "paragraph" || contentsEntries.has(index) || contents.has(index)) return null;
    const form = sequence.get(index);
    if (form !== undefined) return levelOfHeading(form, hasWord);
    if (titled.has(index) && !(hasChapters && sequence.has(index - 1))) return LEVEL.chapter;
    // Text directly below an entry of a table of contents is an entry, too, such as "Epilogue" below the last chapter.
    return contentsEntries.has(index - 1)
      ? null
      : findHeadingLevel(block.text, formsByIndex.get(index) ?? null);
  });
  const markedBlocks = blocks.map((block, index): SourceBlock => {
    const level = levels[index] ?? null;
    const next = levels[index + 1] ?? null;
    const isAboveContents = contents.has(index + 1) && (contents.has(index - 1) || !sequence.has(index));
    const isListed = isAboveContents || (next !== null && next <= (level ?? 0));
    if (block.kind !== "paragraph" || level === null || isListed || index === blocks.length - 1) return block;
    return { kind: "heading", level, text: buildHeadingText(block.text) };
  });
  return joinTitlesBelow(markedBlocks);
}

/** Turns paragraphs into headings if a text with markup has no headings of its own. */
export const markMissingChapters = (
  blocks: readonly SourceBlock[],
  findTitles: () => UnnumberedTitles = () => NO_TITLES,
): readonly SourceBlock[] =>
  blocks.some(({ kind }) => kind === "heading") ? blocks : markChapters(blocks, findTitles());

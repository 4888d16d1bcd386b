/**
 * Decides which line breaks of plain text are intended, as in verse and lists. The other line breaks come from the
 * width of a page. Without evidence, lines are joined.
 */
import { HARD_BREAK } from "../normalize.ts";
import {
  INDENTED_CODE_UNITS,
  MAX_PARAGRAPH_CODE_UNITS,
  measureIndentation,
  splitLines,
} from "./line-shapes.ts";
import { joinListItems } from "./list-lines.ts";
import { estimatePageWidth, isStanza, isVerse, isWrappedPair, joinWrappedLines } from "./verse-lines.ts";

/**
 * Minimum share of verse paragraphs in a text of verse, among the paragraphs that have several lines and are not lists.
 */
const MIN_VERSE_SHARE = 0.25;
/** Minimum number of verse paragraphs in a text of verse. */
const MIN_VERSE_PARAGRAPHS = 5;

/** Converts intended line breaks to {@link HARD_BREAK}. */
export function keepLines(paragraphs: readonly string[]): string[] {
  let pageWidth: number | undefined;
  const hasUnindentedParagraph = paragraphs.some((paragraph) => /^\S/.test(paragraph.replace(/^\n+/, "")));
  const isWrappedPairOfLines = (paragraph: string, lines: readonly string[]): boolean => {
    if (lines.length !== 2) return false;
    pageWidth ??= estimatePageWidth(paragraphs);
    return isWrappedPair(paragraph, lines, pageWidth);
  };
  const kinds = paragraphs.map((paragraph): { readonly kept: string | null; readonly isVerse?: boolean } => {
    if (!paragraph.includes("\n") || paragraph.length > MAX_PARAGRAPH_CODE_UNITS) return { kept: paragraph };
    const lines = splitLines(paragraph);
    if (lines.length < 2) return { kept: paragraph };
    const items = joinListItems(lines);
    if (items !== null) return { kept: items.join(HARD_BREAK) };
    const isIndented = hasUnindentedParagraph && measureIndentation(paragraph) >= INDENTED_CODE_UNITS;
    const isKept = isVerse(lines, isIndented) && !isWrappedPairOfLines(paragraph, lines);
    return { kept: null, isVerse: isKept };
  });
  const multiLineParagraphs = kinds.filter(({ kept }) => kept === null);
  const verses = multiLineParagraphs.filter((kind) => kind.isVerse === true).length;
  const isTextOfVerse =
    verses >= MIN_VERSE_PARAGRAPHS && verses >= MIN_VERSE_SHARE * multiLineParagraphs.length;
  return paragraphs.map((paragraph, index) => {
    const kind = kinds[index];
    if (kind === undefined || kind.kept !== null) return kind?.kept ?? paragraph;
    const lines = isTextOfVerse ? joinWrappedLines(paragraph) : splitLines(paragraph);
    return kind.isVerse === true || (isTextOfVerse && isStanza(lines)) ? lines.join(HARD_BREAK) : paragraph;
  });
}

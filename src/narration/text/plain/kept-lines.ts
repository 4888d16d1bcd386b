/**
 * Decides which line breaks of plain text are intended, as in verse and lists. The other line breaks come from the
 * width of a page. Evidence: form (capitals, indentation) and share. In wrapped prose, a line has no room for the first
 * word of the line below; in verse, it often has. Without evidence, lines are joined.
 */
import { isCjk, OPENERS } from "../characters.ts";
import { HARD_BREAK } from "../normalize.ts";
import {
  MAX_PARAGRAPH_CODE_UNITS,
  measureAppendedWidth,
  measureFirstWordLength,
  measureLineWidth,
} from "./line-shapes.ts";
import { joinListItems, LIST_MARKER } from "./list-lines.ts";

/** Splits a text into trimmed lines. Drops empty lines. */
const splitLines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/**
 * Counts the line breaks that do not come from wrapping. A break counts if the line above it had room for the next
 * word, or if the line above matches `ends`.
 */
function countFreeBreaks(lines: readonly string[], ends?: RegExp): number {
  const widths = lines.map(measureLineWidth);
  const widest = widths.reduce((max, width) => Math.max(max, width), 0);
  let free = 0;
  for (let index = 1; index < lines.length; index += 1) {
    const hadRoom = (widths[index - 1] ?? 0) + measureAppendedWidth(lines[index] ?? "") <= widest;
    if (hadRoom || ends?.test(lines[index - 1] ?? "") === true) free += 1;
  }
  return free;
}

/** Returns the share of the lines that match `form`, from 0 to 1. Returns 0 if there are no lines. */
const computeShareOfLines = (lines: readonly string[], form: RegExp): number =>
  lines.length === 0 ? 0 : lines.filter((line) => form.test(line)).length / lines.length;

/** Matches a line that begins with a capital letter or a number. Opening marks may stand before it. */
const STARTS_UPPERCASE = new RegExp(`^[_*\\s${OPENERS}]*[\\p{Lu}\\p{N}]`, "u");
const STARTS_LOWERCASE = /^\p{Ll}/u;

/** Returns the smallest number of spaces before a line; 99 if all lines are empty. */
const measureIndentation = (paragraph: string): number =>
  paragraph
    .split("\n")
    .reduce((min, line) => (/\S/.test(line) ? Math.min(min, /^ */.exec(line)?.[0].length ?? 0) : min), 99);

/** Minimum number of spaces by which an indented line is indented deeper than the surrounding text. */
const INDENTED_CODE_UNITS = 2;

/** Minimum share of lines that begin with a small letter in wrapped prose. Verse seldom has so many such lines. */
const MIN_LOWERCASE_SHARE = 0.5;
/**
 * Maximum share of line breaks in wrapped prose after which the next word would still have fitted on the line above.
 */
const MAX_PROSE_FREE_BREAKS_SHARE = 0.2;

/** Whether the lines of an indented block were wrapped at a width. Such a block is not a poem. */
export function isWrapped(text: string): boolean {
  const lines = splitLines(text);
  return (
    lines.length > 1 &&
    computeShareOfLines(lines.slice(1), STARTS_LOWERCASE) >= MIN_LOWERCASE_SHARE &&
    countFreeBreaks(lines) < MAX_PROSE_FREE_BREAKS_SHARE * (lines.length - 1)
  );
}

/** Minimum number of lines in verse. Fewer lines may be a sentence that was wrapped once. */
const MIN_VERSE_LINES = 3;
/**
 * Minimum share of lines in verse that begin with a capital letter. The first line does not count. In wrapped prose,
 * only some lines begin with a capital letter.
 */
const MIN_CAPITALS_SHARE = 0.8;
/**
 * Minimum share of line breaks after which the next word would still have fitted on the line above. With a smaller
 * share, the lines are wrapped prose.
 */
const MIN_FREE_BREAKS_SHARE = 0.25;
/**
 * Minimum share of line breaks in Chinese and Japanese verse after which the next word would still have fitted on the
 * line above. A break at the end of a sentence counts, too.
 */
const MIN_CJK_FREE_BREAKS_SHARE = 0.75;
const CJK_SENTENCE_END = /[。！？；]$/;
/** Lines of verse are shorter than this length. Most lines of prose are longer. */
const WIDE_CODE_UNITS = 60;

/**
 * Whether the lines are verse.
 *
 * @param isIndented whether the lines are indented deeper than the surrounding text
 */
function isVerse(lines: readonly string[], isIndented: boolean): boolean {
  const further = lines.slice(1);
  const capitals = computeShareOfLines(further, STARTS_UPPERCASE);
  const isNarrow = lines.every(({ length }) => length < WIDE_CODE_UNITS);
  if (isIndented && capitals === 1 && !LIST_MARKER.test(lines[0] ?? "")) return isNarrow;
  if (lines.length < MIN_VERSE_LINES) return false;
  if (isNarrow && capitals === 1 && lines.length > MIN_VERSE_LINES) return true;
  const isFree = countFreeBreaks(lines) >= MIN_FREE_BREAKS_SHARE * further.length;
  if (further.every((line) => isCjk(line.charAt(0))))
    return countFreeBreaks(lines, CJK_SENTENCE_END) >= MIN_CJK_FREE_BREAKS_SHARE * further.length;
  return isFree && (capitals >= MIN_CAPITALS_SHARE || (isIndented && isNarrow));
}

/** The width of the page is estimated only from paragraphs with at least this many lines. */
const MIN_MEASURED_LINES = 3;

/**
 * Estimates the width of the page. Takes the longest line of each paragraph with several lines, and returns the median
 * of their lengths.
 */
function estimatePageWidth(paragraphs: readonly string[]): number {
  const widths = paragraphs
    .map((paragraph) => paragraph.split("\n").filter((line) => /\S/.test(line)))
    .filter(({ length }) => length >= MIN_MEASURED_LINES)
    .map((lines) => lines.reduce((max, line) => Math.max(max, line.trimEnd().length), 0))
    .sort((one, other) => one - other);
  return widths[Math.floor(widths.length / 2)] ?? Number.POSITIVE_INFINITY;
}

/**
 * Whether the width of the page caused the break between two lines: the first line has no room for the first word of
 * the second line.
 */
function isWrappedPair(paragraph: string, [, second = ""]: readonly string[], pageWidth: number): boolean {
  const [first = ""] = paragraph.replace(/^\n+/, "").split("\n", 1);
  return first.trimEnd().length + 1 + measureFirstWordLength(second) > pageWidth;
}

/** Matches the beginning of a line of verse: a capital letter, a digit or a dash. */
const BEGINS_VERSE_LINE = new RegExp(`${STARTS_UPPERCASE.source}|^[-–—]`, "u");
/** Minimum share of lines in a stanza that begin like a line of verse. The first line does not count. */
const MIN_VERSE_BEGIN_SHARE = 0.6;
const MAX_VERSE_LINE_CODE_UNITS = 200;

/**
 * Joins each continued line of verse to the line above. A continued line begins with a small letter and is indented
 * deeper than other lines.
 */
function joinWrappedLines(paragraph: string): string[] {
  const raw = paragraph.split("\n").filter((line) => /\S/.test(line));
  const min = measureIndentation(paragraph);
  const joined: string[] = [];
  for (const line of raw) {
    const isDeeper = line.search(/\S/) >= min + INDENTED_CODE_UNITS;
    if (joined.length > 0 && isDeeper && STARTS_LOWERCASE.test(line.trim()))
      joined.push(`${joined.pop()} ${line.trim()}`);
    else joined.push(line.trim());
  }
  return joined;
}

/**
 * Whether a stanza in a text of verse keeps its lines, even if the stanza alone could be prose. Evidence: share of
 * verse in the whole text.
 */
function isStanza(lines: readonly string[]): boolean {
  return (
    computeShareOfLines(lines.slice(1), BEGINS_VERSE_LINE) >= MIN_VERSE_BEGIN_SHARE &&
    lines.every(({ length }) => length <= MAX_VERSE_LINE_CODE_UNITS)
  );
}

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

/**
 * Decides which line breaks of plain text are intended, as in verse and lists, and which come from the width of a page.
 * Evidence: form (list marks, indentation) and share. In wrapped text, the first word of a line has no room on the line
 * before. In verse and lists, it often has room there. Without evidence, lines are joined.
 */
import { ENDS_SENTENCE, isCjk, OPENERS } from "../characters.ts";
import { HARD_BREAK } from "../normalize.ts";

const splitLines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const firstWordLength = (line: string): number => /^\S*/.exec(line)?.[0].length ?? 0;

const EAST_ASIAN = /[\u3000-\u30ff\u4e00-\u9fff\uff00-\uff60]/g;

/** Width in columns; East Asian characters take two. */
const lineWidth = (line: string): number => line.length + (line.match(EAST_ASIAN)?.length ?? 0);

/**
 * Returns by how many columns the first word of a line would lengthen the line above, including the space before the
 * word. For a line in Chinese or Japanese, returns 4, the width of two characters.
 */
const firstWordWidth = (line: string): number => (isCjk(line.charAt(0)) ? 4 : 1 + firstWordLength(line));

/**
 * Counts the line breaks that do not come from wrapping. At such a break, the line above had room for the next word, or
 * it matches `ends`.
 */
function countFreeBreaks(lines: readonly string[], ends?: RegExp): number {
  const widths = lines.map(lineWidth);
  const widest = widths.reduce((max, width) => Math.max(max, width), 0);
  let free = 0;
  for (let index = 1; index < lines.length; index += 1) {
    const hadRoom = (widths[index - 1] ?? 0) + firstWordWidth(lines[index] ?? "") <= widest;
    if (hadRoom || ends?.test(lines[index - 1] ?? "") === true) free += 1;
  }
  return free;
}

const shareOfLines = (lines: readonly string[], form: RegExp): number =>
  lines.length === 0 ? 0 : lines.filter((line) => form.test(line)).length / lines.length;

const STARTS_UPPERCASE = new RegExp(`^[_*\\s${OPENERS}]*[\\p{Lu}\\p{N}]`, "u");
const STARTS_LOWERCASE = /^\p{Ll}/u;

/** Whether the lines of an indented block were wrapped at a width. Such a block is not a poem. */
export function isWrapped(text: string): boolean {
  const lines = splitLines(text);
  return (
    lines.length > 1 &&
    shareOfLines(lines.slice(1), STARTS_LOWERCASE) >= 0.5 &&
    countFreeBreaks(lines) < 0.2 * (lines.length - 1)
  );
}

const LIST_MARKER = /^(?:[-*+•·‣▪–]|\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]|\(?[a-z][.)]|[☐☑✓])\s+\S/u;
/**
 * List marks that count only if several lines have them: `o`, which is also a Portuguese word; a number without a mark;
 * a name before a dash (`NAME - description`).
 */
const RARE_MARKS = [/^o\s+\S/, /^\d{1,3}(?:\.\d{1,3}){0,3}\s+\p{Lu}/u, /^\S{1,30}\s+[-–—]\s+\S/];
const MIN_RARE_MARKS = 3;
const MIN_LIST_MARKS = 2;
/** Fewer lines may be a sentence that was wrapped once. */
const MIN_VERSE_LINES = 3;
/** Minimum share of lines after the first that begin with a capital. Lines of wrapped prose begin so only by chance. */
const MIN_CAPITALS_SHARE = 0.8;
/**
 * Minimum share of line breaks that no wrap explains, because the next word would still have fitted. With a smaller
 * share, the lines are prose.
 */
const MIN_FREE_BREAKS_SHARE = 0.25;
/** The same for Chinese and Japanese, where a break at the end of a sentence counts as well. */
const MIN_CJK_FREE_BREAKS_SHARE = 0.75;
const CJK_ENDS = /[。！？；]$/;
/** Lines of verse are shorter than this length. Lines of prose rarely are. */
const NARROW_CODE_UNITS = 60;

/**
 * Whether numbers belong to lists, which may be nested. True if all numbers rise, or if each number either begins a
 * list or continues an open one.
 */
function isNumbered(numbers: readonly number[]): boolean {
  if (numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0))) return true;
  const openNumbers: number[] = [];
  return numbers.every((number, index) => {
    while (openNumbers.length > 0 && number !== 1 && openNumbers.at(-1) !== number - 1) openNumbers.pop();
    if (openNumbers.length === 0 && number !== 1 && index > 0) return false;
    if (number !== 1) openNumbers.pop();
    openNumbers.push(number);
    return true;
  });
}

/** Joins the lines of each list item; `null` if the lines are not a list. */
function joinListItems(lines: readonly string[]): string[] | null {
  const count = (form: RegExp): number => lines.filter((line) => form.test(line)).length;
  const mark =
    count(LIST_MARKER) >= MIN_LIST_MARKS
      ? LIST_MARKER
      : RARE_MARKS.find(
          (form) => form.test(lines[0] ?? "") && count(form) >= Math.max(MIN_RARE_MARKS, lines.length / 2),
        );
  if (mark === undefined) return null;
  const numbers = lines.flatMap((line) => /^\(?(\d{1,3})[.)]\s/.exec(line)?.[1] ?? []).map(Number);
  if (!isNumbered(numbers)) return null;
  const items: string[] = [];
  for (const line of lines) {
    if (items.length === 0 || mark.test(line)) items.push(line);
    else items.push(`${items.pop()}\n${line}`);
  }
  return items;
}

/**
 * Whether the lines are verse.
 *
 * @param isIndented whether the lines are indented deeper than the surrounding text
 */
function isVerse(lines: readonly string[], isIndented: boolean): boolean {
  const further = lines.slice(1);
  const capitals = shareOfLines(further, STARTS_UPPERCASE);
  if (isIndented && capitals === 1 && !LIST_MARKER.test(lines[0] ?? "")) {
    return lines.every(({ length }) => length < NARROW_CODE_UNITS);
  }
  if (lines.length < MIN_VERSE_LINES) return false;
  const isNarrow = lines.every(({ length }) => length < NARROW_CODE_UNITS);
  if (isNarrow && capitals === 1 && lines.length > MIN_VERSE_LINES) return true;
  const isFree = countFreeBreaks(lines) >= MIN_FREE_BREAKS_SHARE * further.length;
  if (further.every((line) => isCjk(line.charAt(0))))
    return countFreeBreaks(lines, CJK_ENDS) >= MIN_CJK_FREE_BREAKS_SHARE * further.length;
  return isFree && (capitals >= MIN_CAPITALS_SHARE || (isIndented && shareOfLines(lines, /.{60}/) === 0));
}

const measureIndentation = (paragraph: string): number =>
  paragraph
    .split("\n")
    .reduce((min, line) => (/\S/.test(line) ? Math.min(min, /^ */.exec(line)?.[0].length ?? 0) : min), 99);

const INDENTED_CODE_UNITS = 2;
/** Maximum length of a poem or a list. Longer blocks without blank lines are prose. */
const MAX_PARAGRAPH_CODE_UNITS = 100_000;

/** Matches a line that begins a paragraph or a speech in Chinese and Japanese. */
const INDENTED_LINE = /^\u3000/;
/**
 * Matches Chinese and Japanese lines that are indented by spaces. Such lines begin paragraphs only if most of them end
 * a sentence. If fewer do, the whole block may be indented.
 */
const SPACED_LINE = /^ {2,8}[“「『（\u3040-\u30ff\u4e00-\u9fff]/;
const SPEECH_LINE = /^[「『（―—]/;
/**
 * Minimum number of indented lines and speeches, as a share of the lines that end a sentence. With fewer, indentation
 * does not begin paragraphs.
 */
const MIN_INDENTED_SHARE = 0.5;
/** Minimum share of lines that end a sentence. With a smaller share, lines are wrapped and not paragraphs. */
const MIN_ENDING_SHARE = 0.6;
/** Fewer lines without blank lines are one paragraph. */
const MIN_LINE_PARAGRAPHS = 3;

/**
 * Matches a heading of a manual page. Such a heading has no small letters, and the lines below it are indented deeper.
 * The first word of the next line would still have fitted on the line of the heading, so the line break is not a wrap.
 * Evidence: sequence.
 */
const HEAD_LINE = /^[^\S\n]*[^\p{Ll}\s:：][^\p{Ll}\n:：]{0,59}$/u;
const MIN_HEAD_LINES = 3;

/** Whether a paragraph begins with a heading of a manual page, and all its other lines are indented deeper. */
function hasHeadLine(paragraph: string): boolean {
  if (!paragraph.includes("\n") || paragraph.length > MAX_PARAGRAPH_CODE_UNITS) return false;
  const [first = "", ...further] = paragraph.replace(/^\n+/, "").trimEnd().split("\n");
  const depth = first.search(/\S/);
  const [second = ""] = further;
  const widest = further.reduce((max, line) => Math.max(max, lineWidth(line)), 0);
  return (
    HEAD_LINE.test(first) &&
    further.every((line) => line.search(/\S|$/) > depth + 1) &&
    lineWidth(first) + firstWordWidth(second.trim()) <= widest
  );
}

/** Separates headings of a manual page from the more deeply indented blocks below the headings. */
function separateHeadLines(paragraphs: readonly string[]): readonly string[] {
  const headed = new Set(paragraphs.filter(hasHeadLine));
  if (headed.size < MIN_HEAD_LINES) return paragraphs;
  return paragraphs.flatMap((paragraph) => {
    if (!headed.has(paragraph)) return [paragraph];
    const text = paragraph.replace(/^\n+/, "");
    const end = text.indexOf("\n");
    return [text.slice(0, end), text.slice(end + 1)];
  });
}

/**
 * Turns lines into paragraphs if the text has one paragraph per line. Evidence: share of lines that end a sentence or
 * are indented.
 */
function separateLineParagraphs(text: string): string {
  const lines = text.split("\n");
  const filled = lines.filter((line) => /\S/.test(line));
  const ending = filled.filter((line) => ENDS_SENTENCE.test(line)).length;
  const spaced = filled.filter((line) => SPACED_LINE.test(line));
  const spacedEnding = spaced.filter((line) => ENDS_SENTENCE.test(line)).length;
  const begin =
    spacedEnding > 0 && spacedEnding >= MIN_ENDING_SHARE * spaced.length ? SPACED_LINE : INDENTED_LINE;
  const indented = filled.filter((line) => begin.test(line)).length;
  const speeches = filled.filter((line) => SPEECH_LINE.test(line)).length;
  if (indented > 1 && indented + speeches >= MIN_INDENTED_SHARE * ending) {
    return lines.map((line) => (begin.test(line) || SPEECH_LINE.test(line) ? `\n${line}` : line)).join("\n");
  }
  const hasBlank = /\S[^\S\n]*\n[^\S\n]*\n\s*\S/.test(text);
  if (hasBlank || filled.length < MIN_LINE_PARAGRAPHS) return text;
  return ending >= MIN_ENDING_SHARE * filled.length ? filled.join("\n\n") : text;
}

/** Divides a text into paragraphs: at blank lines, or at line ends if the text has one paragraph per line. */
export const splitParagraphs = (text: string): readonly string[] =>
  separateHeadLines(
    separateLineParagraphs(text)
      .split(/\n\s*\n/)
      .filter((paragraph) => /\S/.test(paragraph)),
  );

/**
 * Estimates the width of the page. Takes the longest line of each paragraph with several lines, and returns the median
 * of their lengths.
 */
function estimatePageWidth(paragraphs: readonly string[]): number {
  const widths = paragraphs
    .map((paragraph) => paragraph.split("\n").filter((line) => /\S/.test(line)))
    .filter(({ length }) => length >= MIN_LINE_PARAGRAPHS)
    .map((lines) => lines.reduce((max, line) => Math.max(max, line.trimEnd().length), 0))
    .sort((one, other) => one - other);
  return widths[Math.floor(widths.length / 2)] ?? Number.POSITIVE_INFINITY;
}

/** Whether the width of the page caused the break between two lines: the first has no room for the next word. */
function isWrappedPair(paragraph: string, [, second = ""]: readonly string[], pageWidth: number): boolean {
  const [first = ""] = paragraph.replace(/^\n+/, "").split("\n", 1);
  return first.trimEnd().length + 1 + firstWordLength(second) > pageWidth;
}

/**
 * Minimum share and minimum number of verse paragraphs in a text of verse. Only paragraphs with several lines count.
 */
const VERSE_SHARE = 0.25;
const MIN_VERSE_PARAGRAPHS = 5;
/**
 * Matches the beginning of a line of verse: a capital letter, a digit or a dash. `VERSE_BEGIN_SHARE` is the minimum
 * share of such lines in a stanza.
 */
const VERSE_BEGIN = new RegExp(`${STARTS_UPPERCASE.source}|^[-–—]`, "u");
const VERSE_BEGIN_SHARE = 0.6;
const MAX_VERSE_CODE_UNITS = 200;

/**
 * Joins each continued line of verse to the line above. A continued line begins with a small letter and is indented
 * deeper.
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
    shareOfLines(lines.slice(1), VERSE_BEGIN) >= VERSE_BEGIN_SHARE &&
    lines.every(({ length }) => length <= MAX_VERSE_CODE_UNITS)
  );
}

/** Converts intended line breaks to {@link HARD_BREAK}. */
export function keepLines(paragraphs: readonly string[]): string[] {
  let pageWidth: number | undefined;
  const isAnyFlush = paragraphs.some((paragraph) => /^\S/.test(paragraph.replace(/^\n+/, "")));
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
    const isIndented = isAnyFlush && measureIndentation(paragraph) >= INDENTED_CODE_UNITS;
    const isKept = isVerse(lines, isIndented) && !isWrappedPairOfLines(paragraph, lines);
    return { kept: null, isVerse: isKept };
  });
  const several = kinds.filter(({ kept }) => kept === null);
  const verses = several.filter((kind) => kind.isVerse === true).length;
  const isTextOfVerse = verses >= MIN_VERSE_PARAGRAPHS && verses >= VERSE_SHARE * several.length;
  return paragraphs.map((paragraph, index) => {
    const kind = kinds[index];
    if (kind === undefined || kind.kept !== null) return kind?.kept ?? paragraph;
    const lines = isTextOfVerse ? joinWrappedLines(paragraph) : splitLines(paragraph);
    return kind.isVerse === true || (isTextOfVerse && isStanza(lines)) ? lines.join(HARD_BREAK) : paragraph;
  });
}

/**
 * Removes what Project Gutenberg puts around a book: header, licence, and the names of producers. Evidence: form. The
 * marker lines must be there, and the removed text must name Project Gutenberg and must not be too long. A text that
 * only mentions the marker lines keeps them.
 */
import type { UnspokenList } from "../blocks.ts";
import { collapseSpaces } from "../normalize.ts";
import { type HeadedText, readFields } from "./header-lines.ts";

const BOOK_START = /^\s*\*{3}\s*START OF TH(?:E|IS) PROJECT GUTENBERG EBOOK\b/i;
const BOOK_END = /^\s*\*{3}\s*END OF TH(?:E|IS) PROJECT GUTENBERG EBOOK\b/i;

/** Whether the book begins after this line. */
export const isBookStart = (line: string): boolean => BOOK_START.test(line);
/** Whether the book ends before this line. */
export const isBookEnd = (line: string): boolean => BOOK_END.test(line);

const PUBLISHER_NAME = /project gutenberg/i;
/** The last paragraph before the marker of the end. It contains the book's title, so it may take several lines. */
const LAST_PARAGRAPH =
  /^[^\S\n\u2028]*End of (?:the |this )?Project Gutenberg(?:['’]s| E-?(?:book|text))[^\n]*(?:\n[^\S\n]*\S[^\n]*){0,3}$/gim;
const PRODUCED_BY_LINE =
  /^(?:Produced by|E-?text prepared by|This e-?book was produced|Transcribed from|Prepared by)\b/i;

/** Whether a paragraph is the last one before the marker of the end. */
export const isLastParagraph = (text: string): boolean => text.search(LAST_PARAGRAPH) === 0;

/** Whether a paragraph names the people who produced the file. Outside of the markers, it must also name their site. */
export const namesProducers = (text: string, isInsideMarkers: boolean): boolean =>
  text.length <= MAX_PRODUCED_CODE_UNITS &&
  PRODUCED_BY_LINE.test(text.trim()) &&
  (isInsideMarkers || /proofread|pgdp|gutenberg/i.test(text));

const GUTENBERG_TITLES = [
  /^(?:The )?Project Gutenberg E-?(?:book|text) of (?<title>.+), by (?<author>[^,]+)$/i,
  /^(?:The )?Project Gutenberg E-?(?:book|text) of (?<title>.+)$/i,
  /^Project Gutenberg['’]s (?<title>.+), by (?<author>[^,]+)$/i,
  /^(?<title>.+), by (?<author>[^,|]+) \| Project Gutenberg$/i,
  /^(?<title>.+) \| Project Gutenberg$/i,
];

/** Returns title and author from a title such as `The Project Gutenberg eBook of Emma, by Jane Austen`. */
export function parseGutenbergTitle(line: string | null): {
  readonly title: string | null;
  readonly author: string | null;
} {
  const words = collapseSpaces(line ?? "").replace(/\.$/, "");
  const groups = GUTENBERG_TITLES.map((form) => form.exec(words)?.groups).find(
    (found) => found !== undefined,
  );
  return { title: groups?.["title"] ?? line, author: groups?.["author"] ?? null };
}

const MAX_HEADER_CODE_UNITS = 20_000;
const MAX_FRAME_LINES = 1000;
const MAX_LICENCE_CODE_UNITS = 40_000;
const MAX_PRODUCED_CODE_UNITS = 600;
/** Maximum number of lines of a marker. A marker contains the book's title, and a long title takes several lines. */
const MAX_MARKER_LINES = 4;

/** Finds the line after a marker, given the line at which the marker begins. */
function findLineAfterMarker(lines: readonly string[], lineIndex: number): number {
  for (let line = lineIndex; line < Math.min(lines.length, lineIndex + MAX_MARKER_LINES); line += 1) {
    if (/\*{3}\s*$/.test(lines[line] ?? "") && (line > lineIndex || /\*{3}.*\*{3}/.test(lines[line] ?? "")))
      return line + 1;
  }
  return lineIndex + 1;
}

/** Returns the book between two markers, without the names of its producers. */
function extractBookText(lines: readonly string[], unspoken: UnspokenList): string {
  const text = lines.join("\n").replace(LAST_PARAGRAPH, "").replace(/^\s+/, "");
  const [first = ""] = text.split(/\n\s*\n/, 1);
  if (!namesProducers(first, true)) return text;
  unspoken.add("ebook_frame", first);
  return text.slice(first.length);
}

/**
 * Matches words of the notices that Chinese sites put into their files, such as "collected from the net", "for study
 * only", "download" and "rights".
 */
const SITE_WORDS = /网络收集|整理制作|仅供|学习使用|版权归|下载|正版|www\.|\.com/g;
const MIN_SITE_WORDS = 3;
const SITE_LINE = /^\s*([^\n]{1,300})\n/;
/** Matches a title in 《》 that is alone on the first line. */
const BRACKETED_TITLE = /^\s*《([^《》\n]{1,60})》[^\S\n]*\n/;

/** Removes the notice that a site puts above a book. Evidence: form. */
function withoutSiteNotice(text: string, unspoken: UnspokenList): HeadedText {
  const [whole = "", line = ""] = SITE_LINE.exec(text) ?? [];
  const isNotice = (line.match(SITE_WORDS)?.length ?? 0) >= MIN_SITE_WORDS;
  const book = isNotice ? text.slice(whole.length) : text;
  if (isNotice) unspoken.add("ebook_frame", line);
  return { text: book, title: BRACKETED_TITLE.exec(book)?.[1] ?? null, author: null };
}

/**
 * Removes what Project Gutenberg or a site put around each book in a text.
 *
 * @param text with `\n` for line ends; may contain several books
 */
export function withoutEbookBoilerplate(text: string, unspoken: UnspokenList): HeadedText {
  const none = withoutSiteNotice(text, unspoken);
  if (!PUBLISHER_NAME.test(text)) return none;
  const lines = text.split("\n");
  const books: string[] = [];
  let title: string | null = null;
  let author: string | null = null;
  let from = 0;
  let isBook = true;
  let hasMarker = false;
  for (let lineIndex = 0; lineIndex < lines.length; lineIndex += 1) {
    const line = lines[lineIndex] ?? "";
    const isStart = BOOK_START.test(line);
    if (!isStart && !(isBook && BOOK_END.test(line))) continue;
    const isShort = lineIndex - from <= MAX_FRAME_LINES;
    const before = isShort || !isStart ? lines.slice(from, lineIndex).join("\n") : "";
    if (isStart) {
      const isHeader =
        isShort &&
        before.length <= (hasMarker ? MAX_LICENCE_CODE_UNITS : MAX_HEADER_CODE_UNITS) &&
        (PUBLISHER_NAME.test(before) || before.trim() === "");
      if (!isHeader) {
        isBook = true;
        continue;
      }
      if (before.trim() !== "") unspoken.add("ebook_frame", before.trim());
      const named = parseGutenbergTitle(before.trim().split("\n", 1)[0] ?? "");
      const fields = readFields(before.split("\n"));
      title ??= fields.title ?? (named.author === null ? null : named.title);
      author ??= fields.author ?? named.author;
    } else books.push(extractBookText(lines.slice(from, lineIndex), unspoken));
    hasMarker = true;
    isBook = isStart;
    from = findLineAfterMarker(lines, lineIndex);
    lineIndex = from - 1;
  }
  if (!hasMarker) return none;
  const rest = lines.slice(from).join("\n");
  if (isBook) books.push(extractBookText(lines.slice(from), unspoken));
  else if (rest.length <= MAX_LICENCE_CODE_UNITS) {
    if (rest.trim() !== "") unspoken.add("ebook_frame", rest.trim());
  } else books.push(rest);
  return { text: books.join("\n\n"), title, author };
}

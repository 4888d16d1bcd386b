/**
 * Reads plain text. Its paragraphs stand between blank lines, and their line breaks come from the width of the page.
 */
import type { ParsedText, SourceBlock, UnspokenList } from "../blocks.ts";
import { separateHeadings } from "../chapters/inner-headings.ts";
import { markChapters } from "../chapters/mark-chapters.ts";
import { markUnderlined, parseSourceHeading } from "../chapters/source-headings.ts";
import { findUnnumberedTitles, NO_TITLES } from "../chapters/unnumbered-titles.ts";
import { normalizeLines } from "../normalize.ts";
import { ITALIC_MARK } from "../speakers/speaker-labels.ts";
import { parseAozoraHeader, withoutAozora } from "./aozora.ts";
import { withoutLongNotes, withoutMarks } from "./bracket-marks.ts";
import { joinDividedWords } from "./divided-words.ts";
import { withoutEbookBoilerplate } from "./ebook-boilerplate.ts";
import { withoutHeader } from "./header-lines.ts";
import { keepLines } from "./kept-lines.ts";
import { withoutLineNumbers } from "./line-numbers.ts";
import { withoutMailHeaders } from "./mail-headers.ts";
import { withoutPageMarks } from "./page-marks.ts";
import { splitParagraphs } from "./paragraphs.ts";
import { withoutCueTimes } from "./subtitles.ts";
import { shortenAddresses } from "./web-addresses.ts";

/**
 * Matches emphasis as Project Gutenberg (`_word_`) and scripts (`*word*`) write it, but not `snake_case`, `__init__`,
 * `2*3*4`, and the marks of notes.
 */
const EMPHASISED_WORDS =
  /(?<![\p{L}\p{N}_])_(?=\S)([^_]+)(?<=\S)_(?![\p{L}\p{N}_])|(?<![\p{L}\p{N}\p{P}*])(\*{1,3})(?=[\p{L}\p{N}“"‘'¡¿])([^*\n]{1,300})(?<=\S)\2(?![\p{L}\p{N}*])/gu;

/** A whole paragraph between signs that some plain texts use for bold: `#THE RIVER#`, `=Walden=`. */
const BOLD_LINE = /^(\s*)([#=])(\S(?:[^#=]*\S)?)\2(\s*)$/;

/** Emphasis with parentheses: `_(softly)_` or `(_softly_)`. */
const ITALIC_PARENTHESES = /_(\([^()_\n]+\))_|\(_([^()_\n]+)_\)/g;

/**
 * Matches a line of signs between two texts, such as `%` or `* * *`. The line becomes a paragraph of its own, because
 * its signs would be spoken inside another paragraph.
 */
const SEPARATOR_LINE = /^[ \t]*(?:%{1,3}|([*=~#+_-])(?:[ \t]*\1){2,400})[ \t]*$/gm;

const withoutEmphasis = (paragraph: string): string =>
  paragraph
    .replace(
      ITALIC_PARENTHESES,
      (_, whole?: string, inner?: string) => `${ITALIC_MARK}${whole ?? `(${inner})`}`,
    )
    .replace(
      EMPHASISED_WORDS,
      (_, underscored?: string, __?: string, starred?: string) => underscored ?? starred ?? "",
    );

function buildBlock(paragraph: string): SourceBlock {
  const heading = parseSourceHeading(paragraph);
  if (heading !== null) return { kind: "heading", ...heading };
  const plain = paragraph.replace(BOLD_LINE, "$1$3$4");
  const words = /[_*]/.test(plain) ? withoutEmphasis(plain) : plain;
  return { kind: "paragraph", text: shortenAddresses(words) };
}

/** Reads plain text into blocks, and adds what is not spoken to `unspoken`. */
export function parsePlainText(text: string, unspoken: UnspokenList): ParsedText {
  const ebook = withoutEbookBoilerplate(
    withoutMailHeaders(normalizeLines(joinDividedWords(text)), unspoken),
    unspoken,
  );
  const { text: book, title, author } = withoutHeader(ebook.text, unspoken);
  const header = parseAozoraHeader(book);
  // Insert a blank line between title and author, so that they are two paragraphs, not one line.
  const opened = header === null ? book : book.replace(/^(\s*[^\n]+)\n/, "$1\n\n");
  const [numberless = ""] = withoutLineNumbers([opened], "\n", unspoken);
  const page = withoutPageMarks(
    withoutAozora(withoutCueTimes(withoutLongNotes(numberless, unspoken), unspoken), unspoken),
    unspoken,
  );
  const apart = separateHeadings(markUnderlined(page.text).replace(SEPARATOR_LINE, "\n$&\n"));
  const paragraphs = withoutMarks(keepLines(splitParagraphs(apart)), unspoken);
  const blocks = paragraphs.filter((paragraph) => /\S/.test(paragraph)).map(buildBlock);
  const hasHeadings = blocks.some(({ kind }) => kind === "heading");
  const titles = hasHeadings ? NO_TITLES : findUnnumberedTitles(page.text);
  return {
    blocks: markChapters(blocks, titles),
    title: title ?? ebook.title ?? header?.title ?? page.title,
    author: author ?? ebook.author ?? header?.author ?? null,
  };
}

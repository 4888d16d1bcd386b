/** Reads an EPUB as one text: its pages in order. Pages without headings get headings from the table of contents. */
import { getBlockText, type ParsedText, type SourceBlock, type UnspokenList } from "../text/blocks.ts";
import { markMissingChapters } from "../text/chapters/mark-chapters.ts";
import { hasWords } from "../text/characters.ts";
import { collapseSpaces, HARD_BREAK, normalizeLines } from "../text/normalize.ts";
import { withoutInlineMarks } from "../text/plain/bracket-marks.ts";
import { BookArchive } from "./book-archive.ts";
import { withoutBookMatter } from "./book-matter.ts";
import { type BookPackage, parsePackage, readArchiveText } from "./book-package.ts";
import { type HtmlPage, parseHtmlPage } from "./html-page-parser.ts";
import { findNotes } from "./note-links.ts";
import type { PageBlock } from "./page-block.ts";
import { MATTER_TYPES } from "./page-elements.ts";
import { countUnits, withoutBoilerplate } from "./parse-html.ts";

/** A page counts as a table of contents if at least this share of its text is inside links of the book. */
const CONTENTS_LINK_SHARE = 0.8;
const MIN_CONTENTS_BLOCKS = 5;
const MAX_LEVEL = 6;

function isContents({ blocks }: HtmlPage): boolean {
  const linked = countUnits(blocks.map((block) => block.linked.trim()));
  const unlinked = countUnits(blocks.map((block) => block.unlinked.trim()));
  return blocks.length >= MIN_CONTENTS_BLOCKS && linked >= CONTENTS_LINK_SHARE * (linked + unlinked);
}

type Contents = BookPackage["contents"];

const foldWords = (text: string): string => collapseSpaces(text.replaceAll(HARD_BREAK, " ")).toLowerCase();

/** Makes a heading from an entry of the table of contents. The heading replaces a paragraph with the same words. */
function withHeading(label: string, level: number, paragraph: SourceBlock | undefined): SourceBlock[] {
  const heading: SourceBlock = { kind: "heading", level: Math.min(level, MAX_LEVEL), text: label };
  if (paragraph === undefined) return [heading];
  const isSame = paragraph.kind === "paragraph" && foldWords(paragraph.text) === foldWords(label);
  return isSame ? [heading] : [heading, paragraph];
}

/** Whether a heading follows a block before any prose and before the place of another entry. */
function hasOwnHeading(
  blocks: readonly PageBlock[],
  from: number,
  entryIds: ReadonlyMap<string, unknown>,
): boolean {
  for (let index = from + 1; index < blocks.length; index += 1) {
    const { block, ids } = blocks[index] ?? {};
    if (block === undefined || ids === undefined) return false;
    if (block.kind === "paragraph" && block.text.length >= SENTENCE_CODE_UNITS) return false;
    if (ids.some((id) => entryIds.has(id))) return false;
    if (block.kind === "heading") return true;
  }
  return false;
}

/**
 * Returns the blocks of a page. Adds headings from the table of contents where the page has none: at the places that
 * its entries name, and at the beginning of a page without headings.
 */
function withHeadings(blocks: readonly PageBlock[], contents: Contents): SourceBlock[] {
  const entriesById = new Map(contents.toReversed().map((entry) => [entry.id ?? "", entry]));
  const titles = new Set(
    blocks.flatMap(({ block }) => (block.kind === "heading" ? [foldWords(block.text)] : [])),
  );
  return blocks.flatMap(({ block, ids }, index) => {
    const whole = index === 0 && titles.size === 0 ? [""] : [];
    const [id] = [...whole, ...ids].filter((each) => entriesById.has(each));
    const entry = id === undefined ? undefined : entriesById.get(id);
    if (entry === undefined || block.kind === "heading" || titles.has(foldWords(entry.label))) return [block];
    return hasOwnHeading(blocks, index, entriesById) ? [block] : withHeading(entry.label, entry.level, block);
  });
}

/** A page with at least this much prose is spoken, even if the book marks the page as its cover, contents or index. */
const MIN_PROSE_CODE_UNITS = 1000;
const SENTENCE_CODE_UNITS = 60;

function hasProse({ blocks }: HtmlPage): boolean {
  const paragraphs = blocks.flatMap(({ block }) => (block.kind === "paragraph" ? [block.text] : []));
  return countUnits(paragraphs.filter(({ length }) => length >= SENTENCE_CODE_UNITS)) >= MIN_PROSE_CODE_UNITS;
}

/** Titles of pages that are cover, imprint and the like, also if no type says so. Some programs only give them an `id`. */
const MATTER_TITLE =
  /^(?:title ?page|half[- ]title|copyright(?: page| notice)?|imprint|impressum|colophon|colofón)$/i;

function isNamedMatter({ blocks }: HtmlPage): boolean {
  const first = blocks.find(({ block }) => getBlockText(block) !== "");
  if (first?.ids.some((id) => MATTER_TYPES.has(id.toLowerCase())) === true) return true;
  return first?.block.kind === "heading" && MATTER_TITLE.test(first.block.text.trim());
}

const INDEX_TITLE =
  /^(?:(?:general|subject|name) )?index(?: of .{1,40})?$|^(?:register|sachregister|索引|índice (?:analítico|onomástico|remissivo|alfabético))$/i;
const ENDS_IN_PAGE = /\d[\])\s]*$/;

/** Whether a page has the title of an index, and most of its lines end in page numbers. */
function isIndex({ blocks }: HtmlPage): boolean {
  const [title = "", ...texts] = blocks.map(({ block }) => getBlockText(block)).filter(hasWords);
  const lines = texts.flatMap((text) => text.split(HARD_BREAK)).filter((line) => line.trim().length > 1);
  const entries = lines.filter((line) => ENDS_IN_PAGE.test(line));
  return INDEX_TITLE.test(title.trim()) && entries.length > lines.length / 2;
}

/** Reports a whole page as not spoken. Adds its text to `unspoken`, so that a remark quotes its first words. */
function addUnspokenPage(kind: "book_matter" | "aside", { blocks }: HtmlPage, unspoken: UnspokenList): void {
  const text = blocks.map(({ block }) => getBlockText(block)).join(" ");
  if (hasWords(text)) unspoken.add(kind, text);
}

/**
 * Reads the pages of an EPUB in reading order.
 *
 * @throws AudioError `invalid_request` for a file that is protected, damaged, too large or not an EPUB
 */
export function parseEpub(bytes: Uint8Array, unspoken: UnspokenList): ParsedText {
  const archive = new BookArchive(bytes);
  const { title, author, pages, contents } = parsePackage(archive);
  const blocks: SourceBlock[] = [];
  // Each page is read once, even if the book lists it twice.
  const texts = new Map<string, string>();
  for (const { path } of pages) {
    const html = texts.has(path) ? null : readArchiveText(archive, path);
    if (html !== null) texts.set(path, normalizeLines(html));
  }
  const notes = findNotes(texts);
  const uniquePages = new Map(pages.toReversed().map((each) => [each.path, each])).values();
  for (const { path, isLinear, isBookMatter } of [...uniquePages].toReversed()) {
    const html = texts.get(path);
    if (html === undefined) continue;
    const page = parseHtmlPage(html, { isBook: true, notes: notes.get(path) }, unspoken);
    const isMatter = (isBookMatter || isNamedMatter(page)) && !hasProse(page);
    if (isMatter || isContents(page) || isIndex(page)) addUnspokenPage("book_matter", page, unspoken);
    else if (!isLinear) addUnspokenPage("aside", page, unspoken);
    else {
      if (blocks.length > 0) blocks.push({ kind: "rule" });
      const entries = contents.filter((entry) => entry.path === path);
      // Push the blocks one by one, because `push(...blocks)` fails for very many blocks.
      const spoken = withHeadings(withoutBookMatter(page.blocks, unspoken), entries);
      for (const block of spoken) blocks.push(block);
    }
  }
  for (const { label, path, id } of contents) {
    const html = texts.get(path);
    if (html === undefined || (id !== null && !html.includes(id))) unspoken.add("lost_entry", label);
  }
  const book = withoutBoilerplate(
    blocks.map((block) => ({ block })),
    unspoken,
  ).map(({ block }) => block);
  const spokenBlocks = withoutInlineMarks(book, unspoken);
  return { blocks: markMissingChapters(spokenBlocks), title, author };
}

/** Reads an EPUB as one text: its pages in order. Pages without headings get headings from the table of contents. */
import { getBlockText, type ParsedText, type SourceBlock, type UnspokenList } from "../text/blocks.ts";
import { markChapters } from "../text/chapters/mark-chapters.ts";
import { hasWords } from "../text/characters.ts";
import { collapseSpaces, HARD_BREAK, normalizeLines } from "../text/normalize.ts";
import { BookArchive } from "./book-archive.ts";
import { type BookPackage, parsePackage, readArchiveText } from "./book-package.ts";
import { type HtmlPage, parseHtmlPage } from "./html-page-parser.ts";
import type { PageBlock } from "./page-block.ts";
import { withoutBoilerplate, withoutInlineMarks } from "./parse-html.ts";

/** A page counts as a table of contents if at least this share of its text is inside links. */
const CONTENTS_LINK_SHARE = 0.8;
const MIN_CONTENTS_BLOCKS = 5;
const MAX_LEVEL = 6;

function isContents({ blocks }: HtmlPage): boolean {
  const sum = (texts: readonly string[]): number =>
    texts.reduce((units, text) => units + text.trim().length, 0);
  const linkedUnits = sum(blocks.map(({ linked }) => linked));
  const units = linkedUnits + sum(blocks.map(({ unlinked }) => unlinked));
  return blocks.length >= MIN_CONTENTS_BLOCKS && linkedUnits >= CONTENTS_LINK_SHARE * units;
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

/** Returns the blocks of a page. If the page has no heading, adds headings from the table of contents. */
function withHeadings(blocks: readonly PageBlock[], contents: Contents): SourceBlock[] {
  const plain = blocks.map(({ block }) => block);
  if (plain.some(({ kind }) => kind === "heading")) return plain;
  return blocks.flatMap(({ block, ids }, index) => {
    const entry = contents.find(({ id }) => (id === null ? index === 0 : ids.includes(id)));
    return entry === undefined ? [block] : withHeading(entry.label, entry.level, block);
  });
}

/** A page with at least this much prose is spoken, even if the book marks the page as its cover, contents or index. */
const MIN_PROSE_CODE_UNITS = 1000;
const SENTENCE_CODE_UNITS = 60;

function hasProse({ blocks }: HtmlPage): boolean {
  const prose = blocks.flatMap(({ block }) =>
    block.kind === "paragraph" && block.text.length >= SENTENCE_CODE_UNITS ? [block.text.length] : [],
  );
  return prose.reduce((sum, units) => sum + units, 0) >= MIN_PROSE_CODE_UNITS;
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
  const readPaths = new Set<string>();
  for (const { path, isLinear, isBookMatter } of pages) {
    // Each page is read once, even if the book lists it twice.
    if (readPaths.has(path)) continue;
    readPaths.add(path);
    const html = readArchiveText(archive, path);
    if (html === null) continue;
    const page = parseHtmlPage(normalizeLines(html), true, unspoken);
    if ((isBookMatter && !hasProse(page)) || isContents(page)) addUnspokenPage("book_matter", page, unspoken);
    else if (!isLinear) addUnspokenPage("aside", page, unspoken);
    else {
      if (blocks.length > 0) blocks.push({ kind: "rule" });
      const entries = contents.filter((entry) => entry.path === path);
      // Push the blocks one by one, because `push(...blocks)` fails for very many blocks.
      for (const block of withHeadings(page.blocks, entries)) blocks.push(block);
    }
  }
  const spokenBlocks = withoutInlineMarks(withoutBoilerplate(blocks, unspoken), unspoken);
  const hasHeadings = spokenBlocks.some(({ kind }) => kind === "heading");
  return { blocks: hasHeadings ? spokenBlocks : markChapters(spokenBlocks), title, author };
}

/** Reads an HTML page as a text. If the page has a main element or articles, reads only these. */
import { getBlockText, type ParsedText, type SourceBlock, UnspokenList } from "../text/blocks.ts";
import { markMissingChapters } from "../text/chapters/mark-chapters.ts";
import { hasWords } from "../text/characters.ts";
import { isTextNotCode } from "../text/markdown/indented-text.ts";
import { normalizeLines } from "../text/normalize.ts";
import { withoutInlineMarks } from "../text/plain/bracket-marks.ts";
import {
  isBookEnd,
  isBookStart,
  isLastParagraph,
  namesProducers,
  parseGutenbergTitle,
} from "../text/plain/ebook-boilerplate.ts";
import { parsePlainText } from "../text/plain/plain-text.ts";
import { withoutBookMatter } from "./book-matter.ts";
import { parseHtmlPage } from "./html-page-parser.ts";
import { findNotes } from "./note-links.ts";
import type { PageBlock } from "./page-block.ts";
import type { Article } from "./reader-view.ts";

const foldWords = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase();

/** A larger page is read without the reader view. */
const MAX_ARTICLE_CODE_UNITS = 2 * 1024 * 1024;
/** Matches how pages declare that they are articles: `og:type`, JSON-LD, or the item types of schema.org. */
const DECLARES_ARTICLE =
  /<meta\b(?=[^>]{0,300}\bog:type\b)[^>]{0,300}\bcontent\s{0,9}=\s{0,9}["']?article\b|"@type"\s{0,9}:\s{0,9}(?:\[[^\]]{0,200})?"\w{0,30}(?:Article|BlogPosting)"|\bitemtype\s{0,9}=\s{0,9}["']?https?:\/\/schema\.org\/\w{0,30}(?:Article|BlogPosting)\b/i;

/** Finds the article of a page that declares itself one; `null` for any other page. */
export async function findDeclaredArticle(html: string): Promise<Article | null> {
  if (html.length > MAX_ARTICLE_CODE_UNITS || !DECLARES_ARTICLE.test(html)) return null;
  const { findArticle } = await import("./reader-view.ts");
  return findArticle(normalizeLines(html));
}

const isOf = ({ pieces, title }: Article, { block, firstTag, lastTag }: PageBlock): boolean => {
  if (block.kind === "heading" && title !== null && foldWords(title).includes(foldWords(block.text)))
    return true;
  for (let tag = firstTag; tag <= lastTag; tag += 1) if (pieces.has(tag)) return true;
  return false;
};

/**
 * Selects the text of the article. Without an article, selects the text inside `main`, without `main`, the text inside
 * articles, and without articles, all text. Reports the text that is not selected. Such text belongs to the site and
 * not to the page.
 */
function selectMainBlocks(
  blocks: readonly PageBlock[],
  article: Article | null,
  unspoken: UnspokenList,
): PageBlock[] {
  const isMain = [
    (each: PageBlock) => article !== null && isOf(article, each) && each.isInMain,
    (each: PageBlock) => article !== null && isOf(article, each),
    ({ isInMain }: PageBlock) => isInMain,
    ({ isInArticle }: PageBlock) => isInArticle,
    () => true,
  ].find((isIn) => blocks.some((each) => isIn(each) && getBlockText(each.block) !== ""));
  const first = blocks.findIndex((each) => each.block.kind === "paragraph" && isMain?.(each) === true);
  return blocks.flatMap((each, index) => {
    if (isMain?.(each)) return [each];
    // A heading inside the article is not spoken if all below it belongs to the site.
    if (article !== null && first !== -1 && index > first)
      return [{ ...each, unspokenAs: "navigation" as const }];
    const text = getBlockText(each.block);
    if (text !== "") unspoken.add("navigation", text);
    return [];
  });
}

/** Only the first blocks of a book can name its producers. */
const MAX_BLOCKS_BEFORE_PRODUCERS = 3;

/**
 * Removes a publisher's header and licence around the book, recognised by the lines that mark the beginning and end of
 * the book, and the names of producers.
 */
export function withoutBoilerplate<Each extends { readonly block: SourceBlock }>(
  blocks: readonly Each[],
  unspoken: UnspokenList,
): Each[] {
  const texts = blocks.map(({ block }) => getBlockText(block));
  const start = texts.findIndex(isBookStart);
  const end = texts.findIndex((text, index) => index > start && isBookEnd(text));
  const [frame] = start === -1 ? (end === -1 ? [] : texts.slice(end)) : texts;
  if (frame !== undefined) unspoken.add("ebook_frame", frame);
  return blocks.slice(start + 1, end === -1 ? undefined : end).filter((_, index) => {
    const text = texts[start + 1 + index] ?? "";
    const isOfProducers = index < MAX_BLOCKS_BEFORE_PRODUCERS && namesProducers(text, start !== -1);
    if (isOfProducers) unspoken.add("ebook_frame", text);
    return !isOfProducers && !isLastParagraph(text);
  });
}

/** Minimum share of preformatted text on a page that is one text. Such a page may have a few links. */
const MIN_PREFORMATTED_SHARE = 0.9;
/** Minimum share of it that is no code. */
const MIN_TEXT_SHARE = 0.5;
/** A page with fewer paragraphs may be a poem, whose lines are kept. */
const MIN_PARAGRAPHS = 4;

/** Counts the code units of texts. */
export const countUnits = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.length, 0);

/** Returns the text of a page that is a text file, saved by a browser or shown as an RFC; `null` for any other page. */
function findPreformattedText(lines: string): string | null {
  const page = parseHtmlPage(lines, { isBook: false, notes: undefined }, new UnspokenList());
  const text = page.preformatted.join("\n");
  if (text.length < MIN_PREFORMATTED_SHARE * (text.length + page.otherCodeUnits)) return null;
  const paragraphs = text.split(/\n\s*\n/).filter(hasWords);
  const ofText = paragraphs.filter((paragraph) => isTextNotCode(paragraph.trim()));
  const isText = countUnits(ofText) >= MIN_TEXT_SHARE * countUnits(paragraphs);
  return isText && paragraphs.length >= MIN_PARAGRAPHS ? text : null;
}

/**
 * Reads the main text of an HTML page.
 *
 * @throws AudioError `invalid_request` for elements that are nested too deeply
 */
export function parseHtml(html: string, unspoken: UnspokenList, article: Article | null = null): ParsedText {
  const lines = normalizeLines(html);
  const preformatted = /<pre\b/i.test(lines) ? findPreformattedText(lines) : null;
  if (preformatted !== null) return parsePlainText(preformatted, unspoken);
  const notes = findNotes(new Map([["", lines]])).get("");
  const { blocks, title, author } = parseHtmlPage(lines, { isBook: false, notes }, unspoken);
  const book = withoutBoilerplate(selectMainBlocks(blocks, article, unspoken), unspoken);
  const spokenBlocks = withoutInlineMarks(
    withoutBookMatter(book, unspoken).map(({ block }) => block),
    unspoken,
  );
  const named = parseGutenbergTitle(title);
  return {
    blocks: markMissingChapters(spokenBlocks),
    title: article?.title ?? named.title,
    author: article?.author ?? author ?? named.author,
  };
}

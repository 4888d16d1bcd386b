/** Reads an HTML page as a text. If the page has a main element or articles, reads only these. */
import { getBlockText, type ParsedText, type SourceBlock, type UnspokenList } from "../text/blocks.ts";
import { markChapters } from "../text/chapters/mark-chapters.ts";
import { normalizeLines } from "../text/normalize.ts";
import { withoutMarks } from "../text/plain/bracket-marks.ts";
import { isBookEnd, isBookStart } from "../text/plain/ebook-boilerplate.ts";
import { parseHtmlPage } from "./html-page-parser.ts";
import type { PageBlock } from "./page-block.ts";

/**
 * Selects the text inside `main`. Without `main`, selects the text inside articles, and without articles, all text.
 * Reports the text that is not selected. Such text belongs to the site and not to the page.
 */
function selectMainBlocks(blocks: readonly PageBlock[], unspoken: UnspokenList): SourceBlock[] {
  const isMain = [({ isInMain }: PageBlock) => isInMain, ({ isInArticle }: PageBlock) => isInArticle].find(
    (isIn) => blocks.some((each) => isIn(each) && getBlockText(each.block) !== ""),
  );
  if (isMain === undefined) return blocks.map(({ block }) => block);
  for (const each of blocks) {
    const text = getBlockText(each.block);
    if (!isMain(each) && text !== "") unspoken.add("navigation", text);
  }
  return blocks.filter(isMain).map(({ block }) => block);
}

/**
 * Removes a publisher's header and licence around the book, recognised by the lines that mark the beginning and end of
 * the book.
 */
export function withoutBoilerplate(blocks: readonly SourceBlock[], unspoken: UnspokenList): SourceBlock[] {
  const start = blocks.findIndex((block) => isBookStart(getBlockText(block)));
  const end = blocks.findIndex((block, index) => index > start && isBookEnd(getBlockText(block)));
  if (start === -1 && end === -1) return [...blocks];
  const book = blocks.slice(start + 1, end === -1 ? undefined : end);
  const [first] = start === -1 ? blocks.slice(end) : blocks;
  if (first !== undefined) unspoken.add("ebook_frame", getBlockText(first));
  return book;
}

/** Removes marks such as note numbers, page numbers and `[Illustration]` from the paragraphs. */
export function withoutInlineMarks(blocks: readonly SourceBlock[], unspoken: UnspokenList): SourceBlock[] {
  const texts = withoutMarks(
    blocks.map((block) => (block.kind === "paragraph" ? block.text : "")),
    unspoken,
  );
  return blocks.flatMap((block, index): SourceBlock[] => {
    if (block.kind !== "paragraph") return [block];
    const words = texts[index] ?? "";
    return /\S/.test(words) ? [{ kind: "paragraph", text: words }] : [];
  });
}

/**
 * Reads the main text of an HTML page.
 *
 * @throws AudioError `invalid_request` for elements that are nested too deeply
 */
export function parseHtml(html: string, unspoken: UnspokenList): ParsedText {
  const { blocks, title, author } = parseHtmlPage(normalizeLines(html), false, unspoken);
  const spokenBlocks = withoutInlineMarks(
    withoutBoilerplate(selectMainBlocks(blocks, unspoken), unspoken),
    unspoken,
  );
  const hasHeadings = spokenBlocks.some(({ kind }) => kind === "heading");
  return { blocks: hasHeadings ? spokenBlocks : markChapters(spokenBlocks), title, author };
}

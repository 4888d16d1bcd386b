/**
 * Reads Markdown into blocks of text to speak, and collects what is not spoken (docs/reference-narrations.md, Plan of a
 * narration).
 */
import type { MarkedToken, Token, Tokens } from "marked";
import type { ParsedText, SourceBlock, UnspokenList } from "../blocks.ts";
import { markMissingChapters } from "../chapters/mark-chapters.ts";
import { findUnnumberedTitles } from "../chapters/unnumbered-titles.ts";
import { hasWords } from "../characters.ts";
import { HARD_BREAK, normalizeLines } from "../normalize.ts";
import { withoutInlineMarks } from "../plain/bracket-marks.ts";
import { withoutEbookBoilerplate } from "../plain/ebook-boilerplate.ts";
import { withoutHeader } from "../plain/header-lines.ts";
import { isWrapped } from "../plain/kept-lines.ts";
import { wordRow } from "../table-row.ts";
import { isWordsInBrackets } from "./html-elements.ts";
import { isTextNotCode } from "./indented-text.ts";
import { renderInlineText } from "./markdown-inline.ts";
import { isLibraryToken, lexMarkdown } from "./markdown-lexer.ts";
import { dropUnspokenMarkup } from "./unspoken-markup.ts";

const ALERT_MARK = /^\[!(\w+)\][+-]?\s*/;

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();

/**
 * Removes comments. An unclosed comment is read as text. If it were removed, the rest of the text would be missing
 * without a report.
 */
function withoutComments(html: string): string {
  const [before = "", ...comments] = html.split("<!--");
  const after = comments.map((comment) => /-->(?<words>[\s\S]*)/.exec(comment)?.groups?.["words"] ?? comment);
  return [before, ...after].join(" ");
}

class MarkdownReader {
  readonly blocks: SourceBlock[] = [];
  hasTables = false;
  readonly #unspoken: UnspokenList;
  /** Number of the current list item, such as `1. `, to put before the item's first paragraph. Empty afterwards. */
  #itemNumber = "";

  constructor(unspoken: UnspokenList) {
    this.#unspoken = unspoken;
  }

  read(tokens: readonly Token[]): void {
    for (const token of tokens) {
      if (isLibraryToken(token)) this.#addBlock(token);
      else this.#unspoken.add("footnote", token.raw);
    }
  }

  #addBlock(token: MarkedToken): void {
    switch (token.type) {
      case "heading":
        this.blocks.push({ kind: "heading", level: token.depth, text: this.#inline(token.tokens) });
        break;
      case "paragraph":
      case "text":
        this.#addParagraph(
          this.#inline(token.tokens ?? []) || (token.tokens === undefined ? token.text : ""),
        );
        break;
      case "blockquote":
        this.read(token.tokens);
        break;
      case "list":
        this.#addList(token);
        break;
      case "table":
        this.#addTable(token);
        break;
      case "hr":
        this.blocks.push({ kind: "rule" });
        break;
      case "code":
        this.#addCode(token);
        break;
      case "html":
        this.#addHtml(token.text);
        break;
      default:
        // Drop white space and link definitions without a report, because readers do not see them.
        break;
    }
  }

  #addParagraph(text: string): void {
    const spoken = text.replace(ALERT_MARK, (_, kind: string) => `${capitalize(kind)}: `);
    if (spoken.trim() === "") return;
    this.blocks.push({ kind: "paragraph", text: this.#itemNumber + spoken });
    this.#itemNumber = "";
  }

  #addList({ ordered, start, items }: Tokens.List): void {
    for (const [index, item] of items.entries()) {
      this.#itemNumber = ordered ? `${Number(start) + index}. ` : "";
      this.read(item.tokens);
    }
    this.#itemNumber = "";
  }

  #addTable({ header, rows }: Tokens.Table): void {
    const cell = (tokens: Token[]): string => this.#inline(tokens).replaceAll(HARD_BREAK, " ").trim();
    this.hasTables = true;
    const titles = header.map(({ tokens }) => cell(tokens));
    if (rows.length === 0) this.#addParagraph(wordRow(titles));
    for (const row of rows)
      this.#addParagraph(
        wordRow(
          row.map(({ tokens }) => cell(tokens)),
          titles,
        ),
      );
  }

  /**
   * Reads a block of code. If it is indented and not fenced, it may be text, such as a poem or a clause of a contract.
   */
  #addCode({ codeBlockStyle, text }: Tokens.Code): void {
    if (codeBlockStyle !== "indented" || !isTextNotCode(text)) this.#unspoken.add("code", text);
    else if (isWrapped(text))
      for (const paragraph of text.split(/\n\s*\n/)) this.#addParagraph(paragraph.trim());
    else this.#addParagraph(text.trim().replaceAll("\n", HARD_BREAK));
  }

  /** Reports the words between tags as unspoken. Drops tags and comments without a report. */
  #addHtml(html: string): void {
    if (isWordsInBrackets(html.trim())) {
      this.#addParagraph(html.trim());
      return;
    }
    const words = withoutComments(html).replace(/<[^<>]*>/g, " ");
    if (hasWords(words)) this.#unspoken.add("html", words);
    else if (/<hr\b/i.test(html)) this.blocks.push({ kind: "rule" });
  }

  #inline(tokens: readonly Token[]): string {
    return renderInlineText(tokens, this.#unspoken);
  }
}

/** Reads Markdown into blocks, and adds what is not spoken to `unspoken`. */
export function parseMarkdown(text: string, unspoken: UnspokenList): ParsedText {
  const book = withoutEbookBoilerplate(normalizeLines(text), unspoken);
  const { text: source, ...header } = withoutHeader(book.text, unspoken);
  const reader = new MarkdownReader(unspoken);
  for (const tokens of lexMarkdown(dropUnspokenMarkup(source, unspoken))) reader.read(tokens);
  const blocks = withoutInlineMarks(reader.blocks, unspoken);
  return {
    title: header.title ?? book.title,
    author: header.author ?? book.author,
    blocks: markMissingChapters(blocks, () => findUnnumberedTitles(source)),
    hasTables: reader.hasTables,
  };
}

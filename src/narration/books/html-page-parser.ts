/**
 * Reads the spoken text of an HTML page into blocks, and lists what is not spoken. Headings, paragraphs, lists and
 * tables are read as in Markdown. Menus, notes and hidden elements are not spoken.
 */
import { Parser } from "htmlparser2";
import { AudioError } from "../../errors.ts";
import type { SourceBlock, UnspokenList } from "../text/blocks.ts";
import { hasWords } from "../text/characters.ts";
import { isTextNotCode } from "../text/markdown/indented-text.ts";
import { spellOutSuperscripts } from "../text/markdown/superscripts.ts";
import { dropUnspoken, HARD_BREAK } from "../text/normalize.ts";
import { shortenAddresses } from "../text/plain/web-addresses.ts";
import type { PageBlock } from "./page-block.ts";
import { readRow, type Table } from "./table-rows.ts";
import {
  type Attributes,
  endsSilence,
  findUnspokenReason,
  isMain,
  setOf,
  typesOf,
  type UnspokenReason,
} from "./unspoken-elements.ts";

export interface HtmlPage {
  readonly blocks: readonly PageBlock[];
  readonly title: string | null;
  readonly author: string | null;
}

const INLINE_ELEMENTS = setOf(
  "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb ruby s samp small span strike strong sub sup time tt u var wbr img br rt rp rtc math svg object button input select textarea script style template",
);
/**
 * Whether the attribute `epub:type` contains the term, such as `z3998:persona`. Editions of plays mark speakers and
 * stage directions with these terms.
 */
const hasTerm = (attributes: Attributes, term: "persona" | "stage-direction"): boolean =>
  typesOf(attributes).includes(`z3998:${term}`);

interface UnspokenElement {
  readonly kind: UnspokenReason;
  readonly name: string;
  /** Nesting depth of the unspoken element: the number of open elements, including the unspoken one. */
  readonly depth: number;
  text: string;
}

interface List {
  /** Number of the next item; `null` for a list without numbers. */
  next: number | null;
}

const MAX_DEPTH = 10_000;

const getHeadingLevel = (name: string): number | null => (/^h[1-6]$/.test(name) ? Number(name[1]) : null);

class HtmlPageParser {
  readonly #unspoken: UnspokenList;
  readonly #openElements: string[] = [];
  readonly #tables: Table[] = [];
  readonly #lists: List[] = [];
  /** A stack of block lists: first the list of the page, then one list for each open table cell. */
  readonly #sinks: PageBlock[][] = [[]];
  /** For each open table cell, whether it names a speaker. */
  readonly #speakerCells: boolean[] = [];
  /** Nesting depths of the open elements of each kind. */
  readonly #open = { main: [] as number[], article: [] as number[], direction: [] as number[] };
  #text = "";
  #ids: string[] = [];
  #headingLevel: number | null = null;
  #itemNumber = "";
  #unspokenElement: UnspokenElement | null = null;
  #preformattedDepth = 0;
  #openLinkCount = 0;
  #linked = "";
  #unlinked = "";
  #tagCount = 0;
  /** Number of tags before the text of the open block; `null` if it has no text yet. */
  #firstTag: number | null = null;
  /**
   * Depth of the open header of the site; `null` if none is open. Inside a header of the site, only headings are
   * spoken.
   */
  #siteHeaderDepth: number | null = null;
  readonly #isBook: boolean;
  #isInTitle = false;
  #isTitleRead = false;
  title = "";
  author: string | null = null;

  /** @param isBook whether the page is part of a book, which has no site header and footer */
  constructor(unspoken: UnspokenList, isBook: boolean) {
    this.#unspoken = unspoken;
    this.#isBook = isBook;
  }

  get blocks(): readonly PageBlock[] {
    return this.#sinks[0] ?? [];
  }

  /**
   * @throws AudioError `invalid_request` for elements that are nested so deeply that closing them would take minutes
   */
  open(name: string, attributes: Attributes): void {
    this.#openElements.push(name);
    if (this.#openElements.length > MAX_DEPTH) {
      throw new AudioError(
        "invalid_request",
        `The page has more than ${MAX_DEPTH} elements open at one place, so it is not text. Nothing was sent.`,
      );
    }
    if (name === "title" && !this.#openElements.includes("svg")) this.#isInTitle = !this.#isTitleRead;
    if (name === "meta" && attributes["name"]?.toLowerCase() === "author") {
      this.author ??= attributes["content"]?.replace(/\s+/g, " ").trim() || null;
    }
    this.#tagCount += 1;
    if (this.#unspokenElement !== null && endsSilence(this.#unspokenElement, name, attributes))
      this.#endUnspoken(this.#unspokenElement);
    if (this.#unspokenElement !== null) {
      this.#unspokenElement.text += INLINE_ELEMENTS.has(name) ? "" : " ";
      return;
    }
    if (name === "head") return;
    const kind = this.#isSiteFooter(name) ? "navigation" : findUnspokenReason(name, attributes);
    if (kind !== null) {
      if (!INLINE_ELEMENTS.has(name)) this.#flush();
      this.#unspokenElement = { kind, name, depth: this.#openElements.length, text: "" };
      return;
    }
    if (!INLINE_ELEMENTS.has(name)) this.#flush();
    const { id } = attributes;
    if (id !== undefined) this.#ids.push(id);
    this.#enter(name, attributes);
  }

  /**
   * Whether an element is a footer of the site. On web pages, every footer is a footer of the site, even in an article.
   * The exception is a footer in a quotation, because such a footer names the source of the quotation.
   */
  #isSiteFooter(name: string): boolean {
    return name === "footer" && !this.#isBook && !this.#openElements.includes("blockquote");
  }

  #isSiteHeader(): boolean {
    const isOfText =
      this.#open.main.length + this.#open.article.length > 0 || this.#openElements.includes("section");
    return !this.#isBook && !isOfText;
  }

  #enter(name: string, attributes: Attributes): void {
    const level = getHeadingLevel(name);
    if (level !== null) this.#headingLevel = level;
    if (isMain(name, attributes)) this.#open.main.push(this.#openElements.length);
    if (hasTerm(attributes, "stage-direction")) {
      this.#open.direction.push(this.#openElements.length);
      this.#text += " [";
    }
    switch (name) {
      case "br":
        this.#text += HARD_BREAK;
        break;
      case "hr":
        this.#addBlock({ kind: "rule" });
        break;
      case "img":
        this.#addImage(attributes);
        break;
      case "a":
        if (this.#isBook ? attributes["href"] !== undefined : attributes["href"]?.startsWith("#") === true)
          this.#openLinkCount += 1;
        break;
      case "sup":
      case "sub":
        this.#text += `<${name}>`;
        break;
      case "ol":
        this.#lists.push({ next: Number.parseInt(attributes["start"] ?? "1", 10) || 1 });
        break;
      case "ul":
        this.#lists.push({ next: null });
        break;
      case "li":
        this.#startListItem(attributes);
        break;
      case "table":
        this.#tables.push({ titles: null, row: [] });
        break;
      case "td":
      case "th":
        if (this.#tables.length > 0) {
          this.#sinks.push([]);
          this.#speakerCells.push(hasTerm(attributes, "persona"));
        }
        break;
      case "pre":
        this.#preformattedDepth += 1;
        break;
      case "header":
        if (this.#isSiteHeader()) this.#siteHeaderDepth ??= this.#openElements.length;
        break;
      case "article":
        this.#open.article.push(this.#openElements.length);
        break;
      default:
        break;
    }
  }

  text(text: string): void {
    // The style sheet of a picture is no text that a remark could quote.
    if (this.#openElements.at(-1) === "style") return;
    if (this.#isInTitle) this.title += text;
    else if (this.#unspokenElement !== null) this.#unspokenElement.text += text;
    else if (!this.#openElements.includes("head")) {
      if (this.#firstTag === null && /\S/.test(text)) this.#firstTag = this.#tagCount;
      this.#text += text;
      if (this.#openLinkCount > 0) this.#linked += text;
      else this.#unlinked += text;
    }
  }

  close(name: string): void {
    const depth = this.#openElements.length;
    this.#openElements.pop();
    this.#tagCount += 1;
    if (name === "title" && this.#isInTitle) {
      this.#isInTitle = false;
      this.#isTitleRead = true;
    }
    if (this.#unspokenElement !== null) {
      if (depth === this.#unspokenElement.depth) this.#endUnspoken(this.#unspokenElement);
      return;
    }
    if (name === "head") return;
    if (depth === this.#open.direction.at(-1)) {
      this.#open.direction.pop();
      this.#text = `${this.#text.trimEnd()}] `;
    }
    if (name === "pre") this.#endPreformatted();
    if (!INLINE_ELEMENTS.has(name)) this.#flush();
    if (depth === this.#siteHeaderDepth) this.#siteHeaderDepth = null;
    for (const depths of [this.#open.main, this.#open.article]) if (depths.at(-1) === depth) depths.pop();
    this.#leave(name);
  }

  #leave(name: string): void {
    if (getHeadingLevel(name) !== null) this.#headingLevel = null;
    switch (name) {
      case "a":
        this.#openLinkCount = Math.max(0, this.#openLinkCount - 1);
        break;
      case "sup":
      case "sub":
        this.#text += `</${name}>`;
        break;
      case "ol":
      case "ul":
        this.#lists.pop();
        break;
      case "li":
        this.#itemNumber = "";
        break;
      case "td":
      case "th":
        if (this.#sinks.length > 1) {
          const blocks = this.#sinks.pop() ?? [];
          const isSpeaker = this.#speakerCells.pop() ?? false;
          this.#tables.at(-1)?.row.push({ isHeaderCell: name === "th", isSpeaker, blocks });
        }
        break;
      case "tr":
        this.#endTableRow();
        break;
      case "table":
        this.#endTableRow();
        this.#tables.pop();
        break;
      default:
        break;
    }
  }

  end(): void {
    this.#flush();
  }

  #endUnspoken({ kind, text }: UnspokenElement): void {
    this.#unspokenElement = null;
    if (kind !== "silent" && hasWords(text)) this.#unspoken.add(kind, text);
  }

  #addImage(attributes: Attributes): void {
    const alternative = attributes["alt"]?.trim() ?? "";
    // If the alternative text is a single letter, add the letter without spaces. The image may show the first letter of
    // a chapter, and the rest of the word follows the image.
    if (/^\p{L}$/u.test(alternative)) this.#text += alternative;
    else if (hasWords(alternative) && !this.#isBook && !this.#openElements.includes("figure")) {
      this.#text += ` ${alternative} `;
    } else if (hasWords(alternative)) this.#unspoken.add("illustration", alternative);
    else this.#unspoken.add("image", attributes["src"]?.slice(0, 200) ?? "");
  }

  #startListItem(attributes: Attributes): void {
    const list = this.#lists.at(-1);
    if (list === undefined || list.next === null) return;
    const statedNumber = Number.parseInt(attributes["value"] ?? "", 10);
    const number = Number.isNaN(statedNumber) ? list.next : statedNumber;
    list.next = number + 1;
    this.#itemNumber = `${number}. `;
  }

  /** Ends preformatted text, which is a poem, a letter, or code. Code is not spoken. */
  #endPreformatted(): void {
    this.#preformattedDepth = Math.max(0, this.#preformattedDepth - 1);
    if (this.#preformattedDepth > 0) return;
    const text = dropUnspoken(this.#text.replaceAll(HARD_BREAK, "\n"));
    this.#text = "";
    if (!hasWords(text)) return;
    if (!isTextNotCode(text.trim())) {
      this.#unspoken.add("code", text);
      return;
    }
    for (const paragraph of text.split(/\n\s*\n/)) {
      if (hasWords(paragraph)) this.#addParagraph(paragraph.trim().replaceAll("\n", HARD_BREAK));
    }
    this.#firstTag = null;
  }

  #endTableRow(): void {
    const table = this.#tables.at(-1);
    if (table !== undefined) for (const block of readRow(table)) this.#sink.push(block);
  }

  #flush(): void {
    if (this.#preformattedDepth > 0) return;
    const text = this.#text;
    this.#text = "";
    if (!/\S/.test(text)) return;
    const words = withoutSubAndSupTags(spellOutSuperscripts(dropUnspoken(text), this.#unspoken)).normalize(
      "NFC",
    );
    const spoken = shortenAddresses(words);
    if (this.#headingLevel === null) this.#addParagraph(spoken);
    else if (hasWords(spoken))
      this.#addBlock({ kind: "heading", level: this.#headingLevel, text: spoken.trim() });
    this.#firstTag = null;
  }

  #addParagraph(text: string): void {
    if (!/\S/.test(text)) return;
    this.#addBlock({ kind: "paragraph", text: this.#itemNumber + text.trim() });
    this.#itemNumber = "";
  }

  get #sink(): PageBlock[] {
    const sink = this.#sinks.at(-1);
    if (sink === undefined) throw new Error("the page's own blocks are never closed");
    return sink;
  }

  #addBlock(block: SourceBlock): void {
    if (this.#siteHeaderDepth !== null && block.kind === "paragraph") {
      this.#unspoken.add("navigation", block.text);
      return;
    }
    this.#sink.push({
      block,
      isInMain: this.#open.main.length > 0,
      isInArticle: this.#open.article.length > 0,
      ids: this.#ids,
      firstTag: this.#firstTag ?? this.#tagCount,
      lastTag: this.#tagCount,
      linked: this.#linked,
      unlinked: this.#unlinked,
    });
    this.#ids = [];
    this.#linked = "";
    this.#unlinked = "";
  }
}

const withoutSubAndSupTags = (text: string): string =>
  text.includes("<su") ? text.replace(/<\/?su[pb]>/g, "") : text;

/**
 * Reads the blocks of an HTML page.
 *
 * @param isBook whether the page is part of a book. Such a page has no site header, and may have self-closing elements
 *   such as `<p/>`
 */
export function parseHtmlPage(html: string, isBook: boolean, unspoken: UnspokenList): HtmlPage {
  const reader = new HtmlPageParser(unspoken, isBook);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => reader.open(name, attributes),
      ontext: (text) => reader.text(text),
      onclosetag: (name) => reader.close(name),
    },
    { decodeEntities: true, recognizeSelfClosing: isBook, recognizeCDATA: isBook },
  );
  parser.end(html);
  reader.end();
  const title = reader.title.replace(/\s+/g, " ").trim();
  const { blocks, author } = reader;
  return { blocks, author, title: title === "" ? null : title };
}

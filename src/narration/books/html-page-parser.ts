/**
 * Reads the spoken text of an HTML page into blocks, and lists what is not spoken. Headings, paragraphs, lists and
 * tables are read as in Markdown. Menus, notes and hidden elements are not spoken.
 */
import { Parser } from "htmlparser2";
import type { SourceBlock, UnspokenList } from "../text/blocks.ts";
import { hasWords } from "../text/characters.ts";
import { isTextNotCode } from "../text/markdown/indented-text.ts";
import { spellOutSuperscripts } from "../text/markdown/superscripts.ts";
import { collapseSpaces, dropUnspoken, HARD_BREAK } from "../text/normalize.ts";
import { shortenAddresses } from "../text/plain/web-addresses.ts";
import type { PageNotes } from "./note-links.ts";
import type { PageBlock } from "./page-block.ts";
import {
  type Attributes,
  assertDepth,
  endsSilence,
  findInitial,
  findUnspokenReason,
  isInline,
  isMain,
  setOf,
  typesOf,
  type UnspokenReason,
} from "./page-elements.ts";
import { readRow, type Table } from "./table-rows.ts";

export interface HtmlPage {
  readonly blocks: readonly PageBlock[];
  readonly title: string | null;
  readonly author: string | null;
  /** The preformatted texts, also those that are code. */
  readonly preformatted: readonly string[];
  /** Length of the other text, spoken or not part of the page's main text. */
  readonly otherCodeUnits: number;
}

/** Links to places of the same book, which has several pages, or of the same page. */
const INNER_LINK = { book: /^(?![a-z][a-z\d+.-]*:)/i, page: /^#/ };

/**
 * Whether the attribute `epub:type` contains the term, such as `z3998:persona`. Editions of plays mark speakers and
 * stage directions with these terms.
 */
const hasTerm = (attributes: Attributes, term: "persona" | "stage-direction"): boolean =>
  typesOf(attributes).includes(`z3998:${term}`);

interface UnspokenElement {
  kind: UnspokenReason;
  readonly name: string;
  /** Nesting depth of the unspoken element: the number of open elements, including the unspoken one. */
  readonly depth: number;
  text: string;
}

/** Elements and roles that decide how what is inside of them is read. */
const CONTEXTS = setOf("main article section blockquote figure pre");
/** In a header of the site, only headings are spoken. */
const SITE_HEADER = "header of the site";

interface OpenElement {
  readonly name: string;
  /** What the element is, and what those around it are: {@link CONTEXTS}, `head`, `svg`, {@link SITE_HEADER}. */
  contexts: ReadonlySet<string>;
  /** The text that ends the element. */
  end: string;
}

const getHeadingLevel = (name: string): number | null => (/^h[1-6]$/.test(name) ? Number(name[1]) : null);

interface PageOptions {
  /**
   * Whether the page is part of a book. Such a page has no site header and footer, and may have self-closing elements
   * such as `<p/>`.
   */
  readonly isBook: boolean;
  readonly notes: PageNotes | undefined;
}

class HtmlPageParser {
  readonly #unspoken: UnspokenList;
  readonly #openElements: OpenElement[] = [];
  readonly #tables: Table[] = [];
  /** The number of the next item of each open list; `null` for a list without numbers. */
  readonly #nextNumbers: Array<number | null> = [];
  /** A stack of block lists: first that of the page, then one for each open table cell. */
  readonly #sinks: Array<{ readonly blocks: PageBlock[]; readonly isSpeaker: boolean }> = [
    { blocks: [], isSpeaker: false },
  ];
  #text = "";
  #ids: string[] = [];
  #headingLevel: number | null = null;
  #itemNumber = "";
  /** The letter of a picture whose word has not begun yet; `""` if there is none. */
  #initial = "";
  /** Whether a block has ended since the picture. */
  #isInitialApart = false;
  #unspokenElement: UnspokenElement | null = null;
  #isInBrackets = false;
  #endsWithBracket = false;
  #isInnerLink = false;
  #linked = "";
  #unlinked = "";
  #tagCount = 0;
  #elementCount = 0;
  /** Number of tags before the text of the open block; `null` if it has no text yet. */
  #firstTag: number | null = null;
  readonly #isBook: boolean;
  readonly #notes: PageNotes | undefined;
  #isTitleRead = false;
  title = "";
  author: string | null = null;
  readonly preformatted: string[] = [];
  otherCodeUnits = 0;

  constructor({ isBook, notes }: PageOptions, unspoken: UnspokenList) {
    this.#unspoken = unspoken;
    this.#isBook = isBook;
    this.#notes = notes;
  }

  get blocks(): readonly PageBlock[] {
    return this.#sinks[0]?.blocks ?? [];
  }

  get #innermost(): OpenElement | undefined {
    return this.#openElements.at(-1);
  }

  #isIn(context: string): boolean {
    return this.#innermost?.contexts.has(context) === true;
  }

  #isInTitle(): boolean {
    return this.#innermost?.name === "title" && !this.#isIn("svg") && !this.#isTitleRead;
  }

  #addContext(context: string): void {
    const element = this.#innermost;
    if (element !== undefined) element.contexts = new Set([...element.contexts, context]);
  }

  open(name: string, attributes: Attributes): void {
    const contexts = this.#innermost?.contexts ?? new Set();
    this.#openElements.push({ name, contexts, end: "" });
    if (name === "head" || name === "svg") this.#addContext(name);
    assertDepth(this.#openElements.length);
    if (name === "meta" && attributes["name"]?.toLowerCase() === "author") {
      this.author ??= attributes["content"]?.replace(/\s+/g, " ").trim() || null;
    }
    this.#tagCount += 1;
    this.#elementCount += 1;
    if (this.#unspokenElement !== null && endsSilence(this.#unspokenElement, name, attributes))
      this.#endUnspoken(this.#unspokenElement);
    if (this.#unspokenElement !== null) {
      // MediaWiki hides each formula beside its picture.
      if (name === "math" && !hasWords(this.#unspokenElement.text)) this.#unspokenElement.kind = "math";
      this.#unspokenElement.text += isInline(name) ? "" : " ";
      return;
    }
    if (name === "head") return;
    if (!isInline(name)) this.#flush();
    const kind = this.#findReason(name, attributes);
    if (kind !== null) {
      this.#unspokenElement = { kind, name, depth: this.#openElements.length, text: "" };
      return;
    }
    if (attributes["id"] !== undefined) this.#ids.push(attributes["id"]);
    this.#enter(name, attributes);
  }

  #findReason(name: string, attributes: Attributes): UnspokenReason | null {
    if (this.#notes?.notes.has(this.#elementCount)) return "footnote";
    if (this.#notes?.marks.has(this.#elementCount)) return "reference";
    return this.#isSiteFooter(name) ? "navigation" : findUnspokenReason(name, attributes);
  }

  /**
   * Whether an element is a footer of the site. On web pages, every footer is a footer of the site, even in an article.
   * The exception is a footer in a quotation, because such a footer names the source of the quotation.
   */
  #isSiteFooter(name: string): boolean {
    return name === "footer" && !this.#isBook && !this.#isIn("blockquote");
  }

  #enter(name: string, attributes: Attributes): void {
    this.#endsWithBracket = false;
    const level = getHeadingLevel(name);
    if (level !== null) this.#headingLevel = level;
    if (CONTEXTS.has(name)) this.#addContext(name);
    if (isMain(name, attributes)) this.#addContext("main");
    const element = this.#innermost;
    if (hasTerm(attributes, "stage-direction") && element !== undefined) {
      element.end = "] ";
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
        this.#isInnerLink = INNER_LINK[this.#isBook ? "book" : "page"].test(attributes["href"] ?? "http:");
        break;
      case "sup":
      case "sub":
        this.#text += `<${name}>`;
        break;
      case "ol":
        this.#nextNumbers.push(Number.parseInt(attributes["start"] ?? "1", 10) || 1);
        break;
      case "ul":
        this.#nextNumbers.push(null);
        break;
      case "li":
        this.#startListItem(attributes);
        break;
      case "table":
        this.#tables.push({ titles: null, row: [] });
        break;
      case "td":
      case "th":
        if (this.#tables.length > 0)
          this.#sinks.push({ blocks: [], isSpeaker: hasTerm(attributes, "persona") });
        break;
      case "header":
        if (!this.#isBook && !["main", "article", "section"].some((context) => this.#isIn(context)))
          this.#addContext(SITE_HEADER);
        break;
      default:
        break;
    }
  }

  text(text: string): void {
    // The style sheet or script of a picture is no text that a remark could quote.
    if (/^(?:style|script)$/.test(this.#innermost?.name ?? "")) return;
    if (this.#isInTitle()) this.title += text;
    else if (this.#unspokenElement !== null) this.#unspokenElement.text += text;
    else if (!this.#isIn("head")) {
      if (this.#firstTag === null && /\S/.test(text)) this.#firstTag = this.#tagCount;
      this.#text += this.#isInBrackets ? text.replace(/^[\])]/, "") : text;
      this.#isInBrackets = false;
      this.#endsWithBracket = text.endsWith("[") || text.endsWith("(");
      if (this.#isInnerLink) this.#linked += text;
      else this.#unlinked += text;
    }
  }

  close(name: string): void {
    this.#tagCount += 1;
    if (this.#isInTitle()) this.#isTitleRead = true;
    if (this.#openElements.length === this.#unspokenElement?.depth) this.#endUnspoken(this.#unspokenElement);
    else if (this.#unspokenElement === null && name !== "head") this.#leave(name);
    this.#openElements.pop();
  }

  #leave(name: string): void {
    const { end = "" } = this.#innermost ?? {};
    if (end !== "") this.#text = this.#text.trimEnd() + end;
    if (name === "pre") this.#endPreformatted();
    if (!isInline(name)) this.#flush();
    if (getHeadingLevel(name) !== null) this.#headingLevel = null;
    switch (name) {
      case "a":
        this.#isInnerLink = false;
        break;
      case "sup":
      case "sub":
        this.#text += `</${name}>`;
        break;
      case "ol":
      case "ul":
        this.#nextNumbers.pop();
        break;
      case "li":
        this.#itemNumber = "";
        break;
      case "td":
      case "th":
        for (const cell of this.#sinks.length > 1 ? this.#sinks.splice(-1) : [])
          this.#tables.at(-1)?.row.push({ ...cell, isHeaderCell: name === "th" });
        break;
      case "tr":
      case "thead":
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
    if (this.#initial !== "") this.#unspoken.add("illustration", this.#initial);
  }

  #endUnspoken({ kind, text }: UnspokenElement): void {
    this.#unspokenElement = null;
    // Brackets around the mark of a note belong to the mark.
    this.#isInBrackets = kind === "reference" && this.#endsWithBracket;
    if (this.#isInBrackets) this.#text = this.#text.slice(0, -1);
    if (kind === "silent" || !hasWords(text)) return;
    const isMatter = kind === "footnote" || kind === "book_matter";
    // Keep the place of notes and the like, because the heading above them is not spoken either.
    if (isMatter && this.#sinks.length === 1) {
      const block = this.#buildBlock({ kind: "paragraph", text: collapseSpaces(text) }, [], "", "");
      this.#sink.push({ ...block, unspokenAs: kind });
    } else this.#unspoken.add(kind, text);
  }

  #addImage(attributes: Attributes): void {
    const alternative = attributes["alt"]?.trim() ?? "";
    const initial = findInitial(alternative);
    if (initial !== null && /\S/.test(this.#text)) this.#text += initial;
    else if (initial !== null) [this.#text, this.#initial, this.#isInitialApart] = ["", initial, false];
    else if (hasWords(alternative) && !this.#isBook && !this.#isIn("figure")) {
      this.#text += ` ${alternative} `;
    } else if (hasWords(alternative)) this.#unspoken.add("illustration", alternative);
    else this.#unspoken.add("image", attributes["src"]?.slice(0, 200) ?? "");
  }

  #startListItem(attributes: Attributes): void {
    const next = this.#nextNumbers.at(-1) ?? null;
    if (next === null) return;
    const statedNumber = Number.parseInt(attributes["value"] ?? "", 10);
    const number = Number.isNaN(statedNumber) ? next : statedNumber;
    this.#nextNumbers.splice(-1, 1, number + 1);
    this.#itemNumber = `${number}. `;
  }

  /** Ends preformatted text, which is a poem, a letter, or code. Code is not spoken. */
  #endPreformatted(): void {
    const text = dropUnspoken(this.#text.replaceAll(HARD_BREAK, "\n"));
    this.#text = "";
    if (!hasWords(text)) return;
    this.preformatted.push(text);
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
    if (this.#isIn("pre")) return;
    const text = this.#headingLevel === null ? this.#takeInitial() : this.#text;
    this.#text = "";
    if (!/\S/.test(text)) return;
    const words = withoutSubAndSupTags(spellOutSuperscripts(dropUnspoken(text), this.#unspoken)).normalize(
      "NFC",
    );
    const spoken = shortenAddresses(words);
    this.otherCodeUnits += spoken.length;
    if (this.#headingLevel === null) this.#addParagraph(spoken);
    else if (hasWords(spoken))
      this.#addBlock({ kind: "heading", level: this.#headingLevel, text: spoken.trim() });
    this.#firstTag = null;
  }

  /** Returns the text of the open block with the initial above it, unless the text has the whole word itself. */
  #takeInitial(): string {
    const [initial, text] = [this.#initial, this.#isInitialApart ? this.#text.trimStart() : this.#text];
    if (initial === "") return this.#text;
    if (!/\S/.test(text)) {
      this.#isInitialApart = true;
      return "";
    }
    this.#initial = "";
    if (!/^\p{Lu}\p{Ll}/u.test(text)) return initial + text;
    return text.startsWith(initial) ? text : `${initial} ${text}`;
  }

  #addParagraph(text: string): void {
    if (!/\S/.test(text)) return;
    this.#addBlock({ kind: "paragraph", text: this.#itemNumber + text.trim() });
    this.#itemNumber = "";
  }

  get #sink(): PageBlock[] {
    const sink = this.#sinks.at(-1);
    if (sink === undefined) throw new Error("the page's own blocks are never closed");
    return sink.blocks;
  }

  #addBlock(block: SourceBlock): void {
    if (this.#isIn(SITE_HEADER) && block.kind === "paragraph") {
      this.#unspoken.add("navigation", block.text);
      return;
    }
    this.#sink.push(this.#buildBlock(block, this.#ids, this.#linked, this.#unlinked));
    this.#ids = [];
    this.#linked = "";
    this.#unlinked = "";
  }

  #buildBlock(block: SourceBlock, ids: readonly string[], linked: string, unlinked: string): PageBlock {
    return {
      block,
      isInMain: this.#isIn("main"),
      isInArticle: this.#isIn("article"),
      ids,
      firstTag: this.#firstTag ?? this.#tagCount,
      lastTag: this.#tagCount,
      linked,
      unlinked,
    };
  }
}

const withoutSubAndSupTags = (text: string): string =>
  text.includes("<su") ? text.replace(/<\/?su[pb]>/g, "") : text;

/** Reads the blocks of an HTML page. */
export function parseHtmlPage(html: string, options: PageOptions, unspoken: UnspokenList): HtmlPage {
  const reader = new HtmlPageParser(options, unspoken);
  const { isBook } = options;
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
  const { blocks, author, preformatted, otherCodeUnits } = reader;
  return { blocks, author, title: title === "" ? null : title, preformatted, otherCodeUnits };
}

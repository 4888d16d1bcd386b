/**
 * Finds the article on a page with the reader view of Firefox. Returns which pieces of the page's text belong to the
 * article, and not its own text, so that the page's blocks keep their notes, readings and lines.
 */
import { Readability } from "@mozilla/readability";
import JSDOMParser from "@mozilla/readability/JSDOMParser.js";
import { Parser } from "htmlparser2";
import { collapseSpaces } from "../text/normalize.ts";
import { isHidden } from "./page-elements.ts";

export interface Article {
  readonly title: string | null;
  readonly author: string | null;
  /** The pieces of text that belong to the article, each by the number of tags before it. */
  readonly pieces: ReadonlySet<number>;
}

/** What the reader view returns: the smallest part of an element that is needed here. */
interface Content {
  getElementsByTagName(name: string): ReadonlyArray<{ getAttribute(name: string): string | null }>;
}

const toContent = (node: unknown): Content | null => (isContent(node) ? node : null);

function isContent(node: unknown): node is Content {
  return typeof node === "object" && node !== null && "getElementsByTagName" in node;
}

// The time of the reader view grows with the square of the depth. Pages beyond these bounds are read without it.
const MAX_ELEMENTS = 15_000;
const MAX_DEPTH = 300;
/** The reader view includes more of the page until it has this much text. Its default loses short articles in their comments. */
const MIN_ARTICLE_CODE_UNITS = 250;
const MAX_TITLE_CODE_UNITS = 400;
const MAX_AUTHOR_CODE_UNITS = 100;
/** An address, a date, or the words of a button. */
const NO_AUTHOR = /:\/\/|\b(?:19|20)\d\d|^(?:follow|subscribe|share)\b/i;

/** The attributes by which the reader view judges an element. */
const ATTRIBUTE =
  /^(?:class|id|role|style|hidden|aria-hidden|aria-modal|item(?:prop|scope|type)|rel|property|name|content|type|href|src|alt)$/;
const VOID_ELEMENT = /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)$/;
/** The element around each piece of text. It is inline, and has no meaning for the reader view. */
const PIECE = "data";

const escapeMarkup = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/**
 * Writes the page as well-formed text. Encloses each piece of text in an element with the number of tags before it.
 *
 * @throws Error for a page beyond the bounds
 */
function toWellFormed(html: string): string {
  const written: string[] = [];
  let [tagCount, depth, text] = [0, 0, ""];
  let isSilent = false;
  const endText = (): void => {
    if (isSilent) text = "";
    written.push(/\S/.test(text) ? `<${PIECE} n="${tagCount}">${escapeMarkup(text)}</${PIECE}>` : text);
    text = "";
    tagCount += 1;
    if (tagCount > 2 * MAX_ELEMENTS || depth > MAX_DEPTH) throw new Error("beyond the bounds");
  };
  const toName = (name: string): string => (/^[a-z][a-z\d]*$/.test(name) ? name : "span");
  const parser = new Parser({
    onopentag: (name, attributes) => {
      depth += 1;
      endText();
      isSilent = name === "style" || (name === "script" && attributes["type"] !== "application/ld+json");
      const kept = Object.entries(attributes).filter(
        ([key]) => ATTRIBUTE.test(key) && (key !== "hidden" || isHidden(attributes)),
      );
      const words = kept.map(([key, value]) => ` ${key}="${escapeMarkup(value)}"`).join("");
      written.push(`<${toName(name)}${words}${VOID_ELEMENT.test(name) ? "/" : ""}>`);
    },
    ontext: (words) => {
      text += words;
    },
    onclosetag: (name) => {
      depth -= 1;
      endText();
      isSilent = false;
      if (!VOID_ELEMENT.test(name)) written.push(`</${toName(name)}>`);
    },
  });
  parser.end(html);
  const page = written.join("");
  return page.includes("<body") ? page : `<html><body>${page}</body></html>`;
}

/** Finds the article of a page; `null` if the reader view finds none, or fails. */
export function findArticle(html: string): Article | null {
  try {
    const parser = new JSDOMParser();
    parser.error = (message) => {
      throw new Error(message);
    };
    const options = { charThreshold: MIN_ARTICLE_CODE_UNITS, serializer: toContent };
    const found = new Readability(parser.parse(toWellFormed(html)), options).parse();
    const pieces = found?.content?.getElementsByTagName(PIECE) ?? [];
    if (pieces.length === 0) return null;
    const author = collapseSpaces(found?.byline ?? "").replace(/^(?:by|par|por)\s+/i, "");
    return {
      title: collapseSpaces(found?.title ?? "").slice(0, MAX_TITLE_CODE_UNITS) || null,
      author: author.length > MAX_AUTHOR_CODE_UNITS || NO_AUTHOR.test(author) ? null : author || null,
      pieces: new Set(pieces.map((piece) => Number(piece.getAttribute("n")))),
    };
  } catch {
    return null;
  }
}

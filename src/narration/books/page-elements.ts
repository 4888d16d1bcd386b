/** Decides what the elements of a page are, by their names, types, roles and classes: inline, spoken, or why not. */
import { AudioError } from "../../errors.ts";
import type { UnspokenKind } from "../text/unspoken-kinds.ts";

export type Attributes = Readonly<Record<string, string>>;

/** `silent` means that the content is not text of the page. It is ignored without a report. */
export type UnspokenReason = UnspokenKind | "silent";

export const setOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const INLINE_ELEMENTS = setOf(
  "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb ruby s samp small span strike strong sub sup time tt u var wbr img br rt rp rtc math svg object button input select textarea script style template",
);
/** The elements of MathJax, and those of HTML. */
export const isInline = (name: string): boolean => INLINE_ELEMENTS.has(name) || name.startsWith("mjx-");
/** Elements whose content is not text of the page. */
const UNSPOKEN_ELEMENTS = setOf(
  "script style template noscript iframe object embed applet audio video canvas map datalist rp select textarea button input option progress meter head",
);
/** The `id` of a piece of text that React sends hidden, and that a script shows at its place. */
const STREAMED_PIECE = /^S:[\da-z]+$/i;
const HIDDEN_STYLE = /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/** Types of pages and of their sections that are not spoken, in the vocabulary of `epub:type`. */
export const MATTER_TYPES = setOf(
  "toc doc-toc landmarks loi lot loa lov index doc-index index-group index-entry index-entry-list cover doc-cover copyright-page imprint colophon doc-colophon halftitle halftitlepage half-title-page titlepage title-page",
);

/** The types and roles that are not spoken. `banner` is the role of a site's header; its element is judged elsewhere. */
const UNSPOKEN_TYPES: ReadonlyArray<readonly [kind: UnspokenKind, types: ReadonlySet<string>]> = [
  [
    "footnote",
    setOf(
      "footnote footnotes endnote endnotes rearnote rearnotes note doc-footnote doc-endnote doc-endnotes doc-footnotes",
    ),
  ],
  ["reference", setOf("noteref doc-noteref doc-backlink backlink")],
  ["page_mark", setOf("pagebreak doc-pagebreak page-list doc-pagelist")],
  ["book_matter", MATTER_TYPES],
  ["navigation", setOf("navigation search contentinfo")],
  ["aside", setOf("complementary")],
];

const UNSPOKEN_NAMES: Readonly<Record<string, UnspokenKind>> = {
  nav: "navigation",
  form: "navigation",
  aside: "aside",
  svg: "image",
  math: "math",
  rt: "ruby",
};

const UNSPOKEN_CLASSES: ReadonlyArray<readonly [kind: UnspokenKind, form: RegExp]> = [
  ["ebook_frame", /(?:^|\s)pg-boilerplate(?:\s|$)/],
  ["reference", /(?:^|\s)(?:noteref|footnote-?ref|fnanchor|footnote-?anchor|note-?ref)(?:\s|$)/i],
  ["page_mark", /(?:^|\s)(?:pagenum|pageno|page-?number|pagebreak)(?:\s|$)/i],
  // The links to edit a section in MediaWiki.
  ["navigation", /(?:^|\s)mw-editsection(?:\s|$)/],
];

/** The class of raised marks in MediaWiki: `[3]`, `: p. 234`, `[citation needed]`. */
const REFERENCE_CLASS = /(?:^|\s)(?:reference|Inline-Template)(?:\s|$)/;

const MAX_DEPTH = 10_000;

/**
 * Refuses elements that are nested so deeply that closing them would take minutes.
 *
 * @throws AudioError `invalid_request`
 */
export function assertDepth(depth: number): void {
  if (depth <= MAX_DEPTH) return;
  throw new AudioError(
    "invalid_request",
    `The page has more than ${MAX_DEPTH} elements open at one place, so it is not text. Nothing was sent.`,
  );
}

export const typesOf = (attributes: Attributes): readonly string[] =>
  `${attributes["epub:type"] ?? ""} ${attributes["role"] ?? ""}`.toLowerCase().split(/\s+/);

export const isMain = (name: string, attributes: Attributes): boolean =>
  name === "main" || attributes["role"] === "main";

export const isHidden = (attributes: Attributes): boolean =>
  (attributes["hidden"] !== undefined && !STREAMED_PIECE.test(attributes["id"] ?? "")) ||
  attributes["aria-hidden"] === "true" ||
  HIDDEN_STYLE.test(attributes["style"] ?? "");

/** Returns why an element is not spoken; `null` if it is spoken. */
export function findUnspokenReason(name: string, attributes: Attributes): UnspokenReason | null {
  if (UNSPOKEN_ELEMENTS.has(name)) return "silent";
  const types = typesOf(attributes);
  const classes = attributes["class"] ?? "";
  const kind =
    UNSPOKEN_TYPES.find(([, known]) => types.some((type) => known.has(type)))?.[0] ??
    UNSPOKEN_CLASSES.find(([, form]) => form.test(classes))?.[0] ??
    (name === "sup" && REFERENCE_CLASS.test(classes) ? "reference" : null) ??
    UNSPOKEN_NAMES[name] ??
    (name !== "header" && types.includes("banner") ? "navigation" : null);
  return kind ?? (isHidden(attributes) ? "hidden" : null);
}

/**
 * Whether an element inside a frame of the page ends the silence of the frame: the main part, and in a form also an
 * article and a title, because some sites put a whole page into a form.
 */
export const endsSilence = (
  { kind, name }: { readonly kind: UnspokenReason; readonly name: string },
  inner: string,
  attributes: Attributes,
): boolean =>
  (isMain(inner, attributes) && (kind === "navigation" || kind === "aside")) ||
  (name === "form" && (inner === "article" || inner === "h1"));

const INITIAL_WORD =
  "drop(?:ped)?[- ]?cap(?:ital)?|initial|capital|letter|lettrine|inicial|capitular|letra|huruf";
/** The alternative text of a picture that shows the first letter of a word: `W`, `Illustrated capital T`, `T (drop cap)`. */
const INITIAL_FORMS = [
  /^["“‘'«]?(\p{L})["”’'»]?$/u,
  new RegExp(`\\b(?:${INITIAL_WORD})[\\s:-]{1,3}["“‘'(]?(\\p{L})["”’').]?$`, "iu"),
  new RegExp(`^["“‘'(]?(\\p{L})["”’')]?\\s?[,:(–-].{0,40}\\b(?:${INITIAL_WORD})\\b`, "iu"),
];
const MAX_INITIAL_CODE_UNITS = 80;

/** Returns the first letter of a word that a picture shows instead of it; `null` for any other picture. */
export const findInitial = (alternative: string): string | null =>
  alternative.length > MAX_INITIAL_CODE_UNITS
    ? null
    : (INITIAL_FORMS.map((form) => form.exec(alternative)?.[1]).find((letter) => letter !== undefined) ??
      null);

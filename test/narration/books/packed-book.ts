/** Packs small EPUBs for tests. The reading order is that of the given pages. */
import { strToU8, type Zippable, zipSync } from "fflate";

export interface PackedPage {
  readonly id: string;
  /** The content of the page's `body`. */
  readonly body: string;
  /** Attributes of the page's item in the manifest, such as `properties="nav"`. */
  readonly properties?: string;
  readonly linear?: "no";
}

export interface PackedBook {
  readonly pages: readonly PackedPage[];
  readonly metadata?: string;
  /** XML to add to the package file after the reading order. */
  readonly more?: string;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

const HTML = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">';
const CONTAINER =
  '<container><rootfiles><rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>';
export const METADATA = "<dc:title>A Book</dc:title><dc:creator>An Author</dc:creator>";

export const pageOf = (body: string): string =>
  `<?xml version="1.0"?>${HTML}<head><title>A page</title></head><body>${body}</body></html>`;

/** Returns the content of a book's package file. */
export function packageOf({ pages, metadata = METADATA, more = "" }: PackedBook): string {
  const items = pages.map(
    ({ id, properties }) =>
      `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"${properties === undefined ? "" : ` properties="${properties}"`}/>`,
  );
  const order = pages.map(
    ({ id, linear }) => `<itemref idref="${id}"${linear === undefined ? "" : ` linear="${linear}"`}/>`,
  );
  return `<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>${metadata}</metadata><manifest>${items.join("")}</manifest><spine>${order.join("")}</spine>${more}</package>`;
}

export function packBook(book: PackedBook): Uint8Array {
  const files: Zippable = {
    mimetype: [strToU8("application/epub+zip"), { level: 0 }],
    "META-INF/container.xml": strToU8(CONTAINER),
    "OPS/book.opf": strToU8(packageOf(book)),
  };
  for (const { id, body } of book.pages) files[`OPS/${id}.xhtml`] = strToU8(pageOf(body));
  for (const [name, content] of Object.entries(book.files ?? {})) {
    files[name] = typeof content === "string" ? strToU8(content) : content;
  }
  return zipSync(files);
}

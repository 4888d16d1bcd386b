/** Reads the metadata of an EPUB: title, author, order of pages, and table of contents. */
import { Parser } from "htmlparser2";
import { decodeText } from "../../files/text-bytes.ts";
import { type BookArchive, refusedBookError, shortenName } from "./book-archive.ts";
import { type Attributes, MATTER_TYPES, typesOf } from "./page-elements.ts";

const CONTAINER_PATH = "META-INF/container.xml";
const ENCRYPTION_PATH = "META-INF/encryption.xml";
/** Files that shops add to protected books. */
const RIGHTS_PATHS = ["META-INF/rights.xml", "META-INF/sinf.xml"];
/** Algorithms that obfuscate only fonts. If a book uses no other algorithm, its text is not encrypted. */
const FONT_ALGORITHMS = new Set(["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"]);
const MAX_AUTHORS = 3;
/** What converters write where they know no title or author. */
const FILLER =
  /^(?:unknown(?: (?:title|author))?|unbekannte?r?|desconocid[oa]|desconhecido|inconnu|不明|未知)$/i;

interface Page {
  /** Path in the archive. */
  readonly path: string;
  /** `false` for a note or another page beside the main text. */
  readonly isLinear: boolean;
  /** Whether the page is the cover, the table of contents, or another list such as the index. */
  readonly isBookMatter: boolean;
}

interface TocEntry {
  readonly label: string;
  /** Level of the entry; 1 is the highest. */
  readonly level: number;
  /** Path in the archive. */
  readonly path: string;
  readonly id: string | null;
}

export interface BookPackage {
  readonly title: string | null;
  readonly author: string | null;
  readonly pages: readonly Page[];
  readonly contents: readonly TocEntry[];
}

interface Item {
  readonly path: string;
  readonly type: string;
  readonly isNav: boolean;
}

const getLocalName = (name: string): string => name.slice(name.indexOf(":") + 1);

interface XmlHandler {
  readonly open?: (name: string, attributes: Attributes, path: readonly string[]) => void;
  /** Called at the end of an element, with its text and that of its descendants. */
  readonly close?: (name: string, words: string) => void;
}

/**
 * Parses XML. Removes namespace prefixes from the names of elements. Never expands custom entities, and never follows
 * addresses.
 */
function parseXml(xml: string, { open, close }: XmlHandler): void {
  const names: string[] = [];
  const texts: string[] = [];
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        names.push(getLocalName(name));
        texts.push("");
        open?.(getLocalName(name), attributes, names);
      },
      ontext: (text) => {
        if (texts.length > 0) texts[texts.length - 1] += text;
      },
      onclosetag: (name) => {
        names.pop();
        const words = texts.pop() ?? "";
        if (texts.length > 0) texts[texts.length - 1] += words;
        close?.(getLocalName(name), words.replace(/\s+/g, " ").trim());
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
}

/** Matches definitions of custom entities. A custom entity may refer to a local file, or expand to a huge text. */
const OWN_ENTITIES = /<!DOCTYPE[^>[]*\[|<!ENTITY\b/i;

/**
 * Reads one file of the book as text; `null` if it is missing.
 *
 * @throws AudioError `invalid_request` for bytes that are not text, and for custom entities
 */
export function readArchiveText(archive: BookArchive, path: string): string | null {
  const bytes = archive.read(path);
  if (bytes === null) return null;
  if (bytes.byteLength === 0) return "";
  const text = decodeText(bytes, `The EPUB's ${shortenName(path)}`);
  if (!OWN_ENTITIES.test(text)) return text;
  throw refusedBookError(`defines entities of its own in ${shortenName(path)}, which are not resolved`);
}

function splitHref(href: string): { readonly file: string; readonly id: string | null } {
  const [file = "", id] = href.split("#", 2);
  try {
    return { file: decodeURIComponent(file), id: id === undefined ? null : decodeURIComponent(id) };
  } catch {
    return { file, id: id ?? null };
  }
}

/**
 * Resolves a reference to a path in the archive.
 *
 * @throws AudioError `invalid_request` for a reference that leaves the book
 */
function resolvePath(from: string, file: string): string {
  const outside = (): Error => refusedBookError(`names ${shortenName(file)}, which lies outside of it`);
  if (/^[a-z][a-z\d+.-]*:|^\/|\\/i.test(file)) throw outside();
  const path = from.split("/").slice(0, -1);
  for (const step of file.split("/")) {
    if (step === "..") {
      if (path.pop() === undefined) throw outside();
    } else if (step !== "." && step !== "") path.push(step);
  }
  return path.join("/");
}

function refuseProtected(archive: BookArchive): void {
  const refusal = refusedBookError("is protected against copying, so its text cannot be read");
  if (RIGHTS_PATHS.some((path) => archive.has(path))) throw refusal;
  const xml = readArchiveText(archive, ENCRYPTION_PATH);
  if (xml === null) return;
  const algorithms: string[] = [];
  parseXml(xml, {
    open: (name, attributes, path) => {
      const isOfKey = path.includes("EncryptedKey");
      if (name === "EncryptionMethod" && !isOfKey) algorithms.push(attributes["Algorithm"] ?? "");
    },
  });
  if (algorithms.every((algorithm) => FONT_ALGORITHMS.has(algorithm))) return;
  throw refusal;
}

function findPackagePath(archive: BookArchive): string {
  const xml = readArchiveText(archive, CONTAINER_PATH);
  if (xml === null) throw refusedBookError(`has no ${CONTAINER_PATH}, so it is not an EPUB`);
  const paths: string[] = [];
  parseXml(xml, {
    open: (name, attributes) => {
      if (name === "rootfile" && attributes["full-path"] !== undefined) paths.push(attributes["full-path"]);
    },
  });
  const [path] = paths;
  if (path === undefined) throw refusedBookError(`names no package in ${CONTAINER_PATH}`);
  return resolvePath("", path);
}

/**
 * Reads the package of an EPUB: title, author, reading order and table of contents.
 *
 * @throws AudioError `invalid_request` for a protected or incomplete book
 */
export function parsePackage(archive: BookArchive): BookPackage {
  refuseProtected(archive);
  const path = findPackagePath(archive);
  const xml = readArchiveText(archive, path);
  if (xml === null) throw refusedBookError(`names ${shortenName(path)}, which is not in it`);
  const items = new Map<string, Item>();
  const spine: Array<{ readonly id: string; readonly isLinear: boolean }> = [];
  const titles: string[] = [];
  const authors: string[] = [];
  const matter = new Set<string>();
  let tocId: string | null = null;
  parseXml(xml, {
    open: (name, attributes) => {
      const { id, href } = attributes;
      if (name === "item" && id !== undefined && href !== undefined) {
        // Keep the path unresolved. Resolving the path of an item outside of the book, such as audio on the web, would
        // throw.
        const type = attributes["media-type"] ?? "";
        const isNav = /(?:^|\s)nav(?:\s|$)/.test(attributes["properties"] ?? "");
        items.set(id, { path: splitHref(href).file, type, isNav });
      } else if (name === "spine") tocId = attributes["toc"] ?? null;
      else if (name === "itemref" && attributes["idref"] !== undefined) {
        spine.push({ id: attributes["idref"], isLinear: attributes["linear"] !== "no" });
      } else if (name === "reference" && MATTER_TYPES.has(attributes["type"]?.toLowerCase() ?? "")) {
        // Ignore a reference to a position inside a page, such as `book.xhtml#cover`. Otherwise, the whole page would
        // count as the cover, although the page may also contain text of the book.
        const { file, id } = splitHref(href ?? "");
        if (id === null) matter.add(file);
      }
    },
    close: (name, words) => {
      if (words === "" || FILLER.test(words)) return;
      if (name === "title") titles.push(words);
      else if (name === "creator") authors.push(words);
    },
  });
  const nav = [...items.values()].find(({ isNav }) => isNav);
  const ncx = items.get(tocId ?? "") ?? [...items.values()].find(({ type }) => type.includes("ncx"));
  const contents = parseContents(archive, path, nav?.path ?? ncx?.path, matter);
  const pages = spine.flatMap(({ id, isLinear }): Page[] => {
    const item = items.get(id);
    if (item === undefined)
      throw refusedBookError(`has a page ${shortenName(id)} in its order that it does not name`);
    // Leave out only items whose type is never that of a page, such as images. A stricter check would lose pages,
    // because some books state a wrong type.
    if (/^(?:image|audio|video|font)\/|css|javascript|pdf/.test(item.type)) return [];
    const page = resolvePath(path, item.path);
    if (!archive.has(page)) throw refusedBookError(`names ${shortenName(page)}, which is not in it`);
    return [{ path: page, isLinear, isBookMatter: item.isNav || matter.has(item.path) || matter.has(page) }];
  });
  if (pages.length === 0) throw refusedBookError("names no pages in an order");
  return {
    title: titles[0] ?? null,
    author: authors.length === 0 ? null : [...new Set(authors)].slice(0, MAX_AUTHORS).join(", "),
    pages,
    contents,
  };
}

/**
 * Reads the table of contents, from XHTML `nav` or NCX; empty if there is none. Adds the pages that the landmarks of the
 * book name as its title page, imprint and the like to `matter`.
 */
function parseContents(
  archive: BookArchive,
  from: string,
  href: string | undefined,
  matter: Set<string>,
): TocEntry[] {
  if (href === undefined) return [];
  const file = resolvePath(from, href);
  const xml = readArchiveText(archive, file);
  if (xml === null) return [];
  const entries: TocEntry[] = [];
  let isToc = false;
  let level = 0;
  let label = "";
  let target = "";
  const add = (): void => {
    const { file: page, id } = splitHref(target);
    if (label !== "") entries.push({ label, level, path: page === "" ? file : resolvePath(file, page), id });
  };
  parseXml(xml, {
    open: (name, attributes, path) => {
      if (name === "nav") isToc = attributes["epub:type"] === "toc";
      else if (name === "navPoint" || (name === "ol" && isToc)) level += 1;
      else if (name === "a") {
        target = attributes["href"] ?? "";
        const isMatter = typesOf(attributes).some((type) => MATTER_TYPES.has(type));
        if (isMatter && !isToc && !/[#:]/.test(target)) matter.add(resolvePath(file, splitHref(target).file));
      } else if (name === "content" && path.includes("navPoint")) {
        target = attributes["src"] ?? "";
        add();
      }
    },
    close: (name, words) => {
      if (name === "nav") isToc = false;
      else if (name === "navPoint" || (name === "ol" && isToc)) level -= 1;
      else if (name === "navLabel") label = words;
      else if (name === "a" && isToc) {
        label = words;
        add();
      }
    },
  });
  return entries;
}

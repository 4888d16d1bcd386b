/** The kinds of files that a narration is made from. The extension of a file decides its kind. */
import { extname } from "node:path";
import { askUser } from "../errors.ts";
import { decodeText, MAX_TEXT_FILE_BYTES, readStream, refusedInputError } from "./text-bytes.ts";

/** The markup of a text. */
export type TextFormat = "plain" | "markdown";

/**
 * The content of a file, with its kind. A sheet is rows and columns, and each row is a text. An EPUB is an archive of
 * pages.
 */
export type NarrationInput =
  | { readonly text: string; readonly format: TextFormat | "srt" | "vtt" }
  | { readonly text: string; readonly format: "html" }
  | { readonly text: string; readonly format: "sheet" }
  | { readonly bytes: Uint8Array; readonly format: "epub" };

/** Each extension with its kind. Every list of extensions in a message is made from this table. */
const FORMAT_BY_EXTENSION: Readonly<Record<string, NarrationInput["format"]>> = {
  ".txt": "plain",
  ".md": "markdown",
  ".markdown": "markdown",
  ".csv": "sheet",
  ".tsv": "sheet",
  ".srt": "srt",
  ".vtt": "vtt",
  ".html": "html",
  ".htm": "html",
  ".xhtml": "html",
  ".epub": "epub",
};

/** Returns the kind of a file by its extension; `null` for an extension that is not read. */
export const findFormatOfName = (path: string): NarrationInput["format"] | null =>
  FORMAT_BY_EXTENSION[extname(path).toLowerCase()] ?? null;

const EXTENSIONS = Object.keys(FORMAT_BY_EXTENSION);

/** The extensions for a message: ".txt, .md or .markdown". */
export const EXTENSIONS_IN_WORDS = `${EXTENSIONS.slice(0, -1).join(", ")} or ${EXTENSIONS.at(-1)}`;

/** Kinds of files that are not read, although people take them for texts. Other programs save each as a kind that is. */
const UNREAD_KINDS: Readonly<Record<string, string>> = {
  ".rtf": "rich text (RTF)",
  ".pdf": "a PDF",
  ".ass": "subtitles of SubStation Alpha",
  ".ssa": "subtitles of SubStation Alpha",
  ".fountain": "a screenplay in Fountain",
  ".doc": "a document of Word",
  ".docx": "a document of Word",
  ".odt": "an OpenDocument text",
  ".xlsx": "a sheet of Excel",
  ".mobi": "a Kindle book",
  ".azw3": "a Kindle book",
  ".zip": "a ZIP file, as documents of Word are",
};
/** How files of such a kind begin, whatever their names. */
const UNREAD_BEGINNINGS: ReadonlyArray<readonly [beginning: RegExp, extension: string]> = [
  [/^\s{0,20}\{\\rtf/, ".rtf"],
  [/^\s{0,20}%PDF/, ".pdf"],
  [/^PK\x03\x04/, ".zip"],
  [/^[\s\S]{60}BOOKMOBI/, ".mobi"],
  [/^\s{0,20}\[Script Info\]\s/i, ".ass"],
];

/** Refuses a file of a kind that is known and not read, by its extension. */
export function assertReadKind(path: string, name: string): void {
  const kind = UNREAD_KINDS[extname(path).toLowerCase()];
  if (kind === undefined) return;
  throw refusedInputError(
    name,
    `is ${kind}, which is not read. Files that are read are ${EXTENSIONS_IN_WORDS}`,
    askUser("save it as one of these with the program that made it", ", or give the text itself"),
  );
}

/**
 * Refuses content of a kind that is not read, whatever its name says.
 *
 * @throws AudioError `invalid_request`
 */
export function assertReadContent(text: string, name: string): void {
  for (const [beginning, extension] of UNREAD_BEGINNINGS)
    if (beginning.test(text)) assertReadKind(`x${extension}`, name);
}

/** Maximum size of an EPUB. It exceeds the maximum for other files, because a book also contains pictures and fonts. */
const MAX_EPUB_BYTES = 64 * 1024 * 1024;

/** Returns the maximum size in bytes for a kind of file. */
export const maxBytesForFile = (format: NarrationInput["format"]): number =>
  format === "epub" ? MAX_EPUB_BYTES : MAX_TEXT_FILE_BYTES;

/**
 * Reads a stream. Returns the bytes of an EPUB, and the decoded text of any other kind of file.
 *
 * @param name the name of the input, with which error messages begin
 * @throws AudioError `invalid_request` if the input is too large, not text, or of a kind that is not read
 */
export async function readInput(
  stream: AsyncIterable<unknown>,
  format: NarrationInput["format"],
  name: string,
): Promise<NarrationInput> {
  if (format === "epub") return { bytes: await readStream(stream, name, maxBytesForFile(format)), format };
  const bytes = await readStream(stream, name);
  assertReadContent(new TextDecoder("latin1").decode(bytes.subarray(0, 100)).replace(/^ï»¿/, ""), name);
  return { text: decodeText(bytes, name), format };
}

/** The kinds of files that a narration is made from. The ending of a file's name decides its kind. */
import { extname } from "node:path";

/** How a text is marked up. */
export type TextFormat = "plain" | "markdown";

/** What a file holds, with the kind that its name gives it. */
export interface InputText {
  readonly text: string;
  /** A sheet is rows and columns, each row a text of its own. */
  readonly format: TextFormat | "sheet" | "srt" | "vtt";
}

/** Each extension with its kind. Every list of extensions in a message is made from this table. */
const FORMATS: Readonly<Record<string, InputText["format"]>> = {
  ".txt": "plain",
  ".md": "markdown",
  ".markdown": "markdown",
  ".csv": "sheet",
  ".tsv": "sheet",
  ".srt": "srt",
  ".vtt": "vtt",
};

/** The kind of a file by its name; `null` for a name that is not read. */
export const formatOfName = (path: string): InputText["format"] | null =>
  FORMATS[extname(path).toLowerCase()] ?? null;

const EXTENSIONS = Object.keys(FORMATS);

/** For a message: ".txt, .md or .markdown". */
export const EXTENSIONS_IN_WORDS = `${EXTENSIONS.slice(0, -1).join(", ")} or ${EXTENSIONS.at(-1)}`;

/** Validates and completes file names that a caller chose, and makes the others (docs/reference-files.md, Names of files). */
import { createHash } from "node:crypto";
import { basename, extname } from "node:path";
import { FILE_EXTENSIONS, type OutputFormat } from "../contract/audio-format.ts";
import { countCodePoints, takeFirstCodePoints } from "../contract/unicode.ts";
import { AudioError } from "../errors.ts";

export const MAX_FILE_NAME_CODE_POINTS = 120;

/** Maximum length of a name in file systems, in bytes of UTF-8. */
const MAX_NAME_BYTES = 255;
/**
 * Bytes that are reserved for the extension (at most four bytes) and for a number that is added to a taken name
 * (`-999`).
 */
const RESERVED_BYTES = 8;

/** Device names of Windows, with any extension. Windows treats superscript digits as digits. */
const DEVICE_NAME = /^(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9\u00b9\u00b2\u00b3]) *(\.|$)/i;

/** Invisible characters, except the variation selectors that emoji are written with. */
const INVISIBLE_CHARACTER = /[\p{Cf}\p{Zl}\p{Zp}[\p{Default_Ignorable_Code_Point}--[\ufe00-\ufe0f]]]/v;

const ALL_EXTENSIONS = Object.values(FILE_EXTENSIONS);

/** The rules for names. An error message puts the word "it" before the first rule that the name breaks. */
const FILE_NAME_RULES: ReadonlyArray<readonly [breaks: (name: string) => boolean, rule: string]> = [
  [(name) => name === "", "must not be empty"],
  [(name) => !name.isWellFormed(), "must be well-formed Unicode (it holds half of a surrogate pair)"],
  [(name) => /[/\\]/.test(name), "must be a plain name without / or \\ (the folder is AUDIO_OUTPUT_DIR)"],
  [(name) => name.startsWith("."), "must not start with a dot"],
  [(name) => /\p{Cc}/u.test(name), "must not contain control characters"],
  [(name) => INVISIBLE_CHARACTER.test(name), "must not contain invisible or direction-changing characters"],
  [(name) => name.includes(":"), "must not contain a colon"],
  [(name) => /[<>"|?*]/.test(name), 'must not contain any of < > " | ? *'],
  [(name) => /[. ]$/.test(name), "must not end with a dot or a space"],
  [(name) => DEVICE_NAME.test(name), "must not be a Windows device name such as CON, NUL or COM1"],
];

/** Removes an extension from a name if it is one of `extensions`, in upper or lower case. */
function stripExtensions(name: string, extensions: readonly string[]): string {
  const extension = extensions.find((ending) => name.toLowerCase().endsWith(ending));
  return extension === undefined ? name : name.slice(0, -extension.length);
}

/** Quotes a name for an error message: shortened, with unusual characters escaped. */
function quoteName(name: string): string {
  return JSON.stringify(takeFirstCodePoints(name, 60)).replace(/[^\x20-\x7e]/gu, (character) =>
    /[\p{L}\p{N}\p{S}\p{P}]/u.test(character) ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

function findNameIssue(name: string, format?: OutputFormat): string | null {
  const [, broken] = FILE_NAME_RULES.find(([breaks]) => breaks(name)) ?? [];
  if (broken !== undefined) return broken;
  const stem = stripExtensions(name, format === undefined ? ALL_EXTENSIONS : [FILE_EXTENSIONS[format]]);
  if (stem.trim() === "") return "must contain more than its extension and white space";
  const length = countCodePoints(stem);
  if (length > MAX_FILE_NAME_CODE_POINTS) {
    return `must be at most ${MAX_FILE_NAME_CODE_POINTS} characters (this one has ${length})`;
  }
  const sizeBytes = Buffer.byteLength(stem);
  const maxBytes = MAX_NAME_BYTES - RESERVED_BYTES;
  return sizeBytes > maxBytes
    ? `must be at most ${maxBytes} bytes of UTF-8 (this one has ${sizeBytes})`
    : null;
}

/** Explains why a name cannot be used, and quotes the name safely. Returns `null` if the name can be used. */
export function findFileNameIssue(name: string, format?: OutputFormat): string | null {
  const rule = findNameIssue(name, format);
  return rule === null ? null : `${quoteName(name)} cannot be used: it ${rule}`;
}

/**
 * Checks a name that a caller chose (docs/reference-files.md, Names of files). The rules of all platforms, including
 * Windows, apply on every platform.
 *
 * @param format the format whose extension does not count toward the length. Without a format, no audio extension
 *   counts toward the length
 * @throws AudioError `invalid_file_name`, naming the rule
 */
export function assertFileName(name: string, format?: OutputFormat): void {
  const issue = findFileNameIssue(name, format);
  if (issue !== null) throw new AudioError("invalid_file_name", `The file name ${issue}.`);
}

/**
 * Adds the extension of the format to a chosen name that lacks it. Composes its characters (NFC), because a name in
 * another Unicode form looks the same and must not become a second file.
 *
 * @throws AudioError `invalid_file_name`
 */
export function buildRequestedName(fileName: string, format: OutputFormat): string {
  assertFileName(fileName, format);
  const extension = FILE_EXTENSIONS[format];
  return `${stripExtensions(fileName.normalize("NFC"), [extension])}${extension}`;
}

/** Inserts words after the stem of a name. Shortens the stem if the new name would be too long for the file system. */
export function appendToStem(name: string, words: string, extension = extname(name)): string {
  const ending = `${words}${extension}`;
  return `${cutToBytes(basename(name, extname(name)), MAX_NAME_BYTES - Buffer.byteLength(ending))}${ending}`;
}

/** Returns the n-th name to try if the earlier names are taken, such as `name-2.mp3` for `name.mp3`. */
export const buildNumberedName = (name: string, number: number): string =>
  number === 1 ? name : appendToStem(name, `-${number}`);

/** Whether a name is `base` with a number added, such as `name-2.mp3` for `name.mp3`. */
export function isNumbered(name: string, base: string): boolean {
  const number = Number(/-([1-9]\d*)\.[^.]+$/.exec(name)?.[1] ?? 1);
  return number > 1 && buildNumberedName(base, number) === name;
}

/** Returns the temporary name of a file that is being replaced, such as `name (previous).mp3` for `name.mp3`. */
export const buildPreviousName = (name: string): string => appendToStem(name, " (previous)");

function cutToBytes(text: string, max: number): string {
  let keptText = text;
  while (Buffer.byteLength(keptText) > max)
    keptText = takeFirstCodePoints(keptText, countCodePoints(keptText) - 1);
  return keptText;
}

/** Replaces the extension by `.bin`, for bytes that do not match their format. */
export function buildWrongFormatName(name: string): string {
  return `${name.slice(0, name.lastIndexOf("."))}.bin`;
}

/** Maximum length of the words of a text in its automatic name. */
const MAX_WORDS_CHARACTERS = 40;
/**
 * Number of digits in the short id. The digits come from a hash of the task id, because all task ids of a service may
 * begin alike.
 */
const ID_DIGITS = 8;

/**
 * Keeps letters, digits, Chinese and Japanese characters. Drops accents, and replaces everything else by single
 * hyphens.
 */
function slugify(text: string): string {
  return (
    text
      .normalize("NFKD")
      // Remove accents, but keep the mark of a voiced kana.
      .replace(/(?<![\u3041-\u30ff])\p{M}+/gu, "")
      .normalize("NFC")
      .replace(/[^A-Za-z0-9\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu, "-")
      .replace(/^-+|-+$/g, "")
  );
}

/**
 * Returns the first words of the text: as many whole words as {@link MAX_WORDS_CHARACTERS} allows. Cuts the first word if it
 * is too long by itself.
 */
export function slugifyFirstWords(text: string): string {
  const [first = "", ...others] = slugify(text).split("-");
  let words = takeFirstCodePoints(first, MAX_WORDS_CHARACTERS);
  for (const word of others) {
    if (words.length + 1 + word.length > MAX_WORDS_CHARACTERS) break;
    words += `-${word}`;
  }
  return words === "" ? "audio" : words;
}

const deriveShortHash = (taskId: string): string =>
  createHash("sha256").update(taskId).digest("hex").slice(0, ID_DIGITS);

/**
 * Builds the file name of audio for which no name was chosen, from the first words of its text and a short id.
 *
 * @param prompt `null` if this ledger does not have the task's text
 */
export function buildAutomaticName(format: OutputFormat, prompt: string | null, taskId: string): string {
  return `${slugifyFirstWords(prompt ?? "")}-${deriveShortHash(taskId)}${FILE_EXTENSIONS[format]}`;
}

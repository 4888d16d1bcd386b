/**
 * Builds the file name of audio for which no name was chosen, from the first words of its text and a short id
 * (docs/reference-files.md, Names of files).
 */
import { createHash } from "node:crypto";
import { FILE_EXTENSIONS, type OutputFormat } from "../contract/audio-format.ts";
import { takeFirstCodePoints } from "../contract/unicode.ts";

const MAX_CHARACTERS = 40;
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
 * Returns the first words of the text: as many whole words as {@link MAX_CHARACTERS} allows. Cuts the first word if it
 * is too long by itself.
 */
export function slugifyFirstWords(text: string): string {
  const [first = "", ...others] = slugify(text).split("-");
  let words = takeFirstCodePoints(first, MAX_CHARACTERS);
  for (const word of others) {
    if (words.length + 1 + word.length > MAX_CHARACTERS) break;
    words += `-${word}`;
  }
  return words === "" ? "audio" : words;
}

const deriveShortHash = (taskId: string): string =>
  createHash("sha256").update(taskId).digest("hex").slice(0, ID_DIGITS);

/**
 * Builds the automatic file name for the audio of a task.
 *
 * @param prompt `null` if this ledger does not have the task's text
 */
export function buildAutomaticName(format: OutputFormat, prompt: string | null, taskId: string): string {
  return `${slugifyFirstWords(prompt ?? "")}-${deriveShortHash(taskId)}${FILE_EXTENSIONS[format]}`;
}

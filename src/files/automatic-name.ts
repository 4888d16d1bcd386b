/** Names audio without a chosen name: the first words of its text, and a short id (docs/reference-files.md, Names of files). */
import { createHash } from "node:crypto";
import { FILE_EXTENSIONS, type OutputFormat } from "../contract/audio-format.ts";
import { firstCodePoints } from "../contract/unicode.ts";

const MAX_CHARACTERS = 40;
/** Uses the digits of a hash, because all task ids of a service may begin alike. */
const ID_DIGITS = 8;

/** Keeps letters, digits, Chinese and Japanese characters; drops accents; replaces everything else by single hyphens. */
function plainText(text: string): string {
  return (
    text
      .normalize("NFKD")
      // Keep the mark of a voiced kana.
      .replace(/(?<![\u3041-\u30ff])\p{M}+/gu, "")
      .normalize("NFC")
      .replace(/[^A-Za-z0-9\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu, "-")
      .replace(/^-+|-+$/g, "")
  );
}

/** Takes as many whole words as fit; cuts a first word that is too long by itself. */
export function firstWords(text: string): string {
  const [first = "", ...others] = plainText(text).split("-");
  let words = firstCodePoints(first, MAX_CHARACTERS);
  for (const word of others) {
    if (words.length + 1 + word.length > MAX_CHARACTERS) break;
    words += `-${word}`;
  }
  return words === "" ? "audio" : words;
}

const shortHash = (taskId: string): string =>
  createHash("sha256").update(taskId).digest("hex").slice(0, ID_DIGITS);

/** @param prompt `null` if this ledger does not have the task's text */
export function automaticName(format: OutputFormat, prompt: string | null, taskId: string): string {
  return `${firstWords(prompt ?? "")}-${shortHash(taskId)}${FILE_EXTENSIONS[format]}`;
}

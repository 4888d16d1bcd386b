/** The name of an audio that nobody named: the first words of its text, and a short id (docs/reference.md, Names of files). */
import { createHash } from "node:crypto";
import { FILE_EXTENSIONS, type OutputFormat } from "../contract/audio-format.ts";
import { firstCodePoints } from "../contract/unicode.ts";

const MAX_CHARACTERS = 40;
/** Taken from a hash, because the beginnings of a service's task ids may be all alike. */
const ID_DIGITS = 8;

/** Letters, digits, Chinese and Japanese characters, and single hyphens; accents are dropped, anything else becomes a hyphen. */
function plain(text: string): string {
  return (
    text
      .normalize("NFKD")
      // A voiced kana is a kana and a mark.
      .replace(/(?<![\u3041-\u30ff])\p{M}+/gu, "")
      .normalize("NFC")
      .replace(/[^A-Za-z0-9\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu, "-")
      .replace(/^-+|-+$/g, "")
  );
}

/** As many whole words as fit; a first word that is too long alone is cut. */
export function firstWords(text: string): string {
  const [first = "", ...others] = plain(text).split("-");
  let words = firstCodePoints(first, MAX_CHARACTERS);
  for (const word of others) {
    if (words.length + 1 + word.length > MAX_CHARACTERS) break;
    words += `-${word}`;
  }
  return words === "" ? "audio" : words;
}

const shortHash = (taskId: string): string =>
  createHash("sha256").update(taskId).digest("hex").slice(0, ID_DIGITS);

/** @param prompt `null` for a task that was made elsewhere */
export function automaticName(format: OutputFormat, prompt: string | null, taskId: string): string {
  return `${firstWords(prompt ?? "")}-${shortHash(taskId)}${FILE_EXTENSIONS[format]}`;
}

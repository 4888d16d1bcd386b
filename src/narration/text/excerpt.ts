/** Shortens a text to an excerpt for messages. */
import { dropUnspoken } from "./normalize.ts";

const EXCERPT_CODE_UNITS = 60;

/** Returns the beginning of a text on one line, without splitting a surrogate pair. */
export function shortenExcerpt(text: string): string {
  const head = dropUnspoken(text.slice(0, 4 * EXCERPT_CODE_UNITS))
    .replace(/\s+/g, " ")
    .trim();
  if (head.length <= EXCERPT_CODE_UNITS && text.length <= 4 * EXCERPT_CODE_UNITS) return head;
  return `${head
    .slice(0, EXCERPT_CODE_UNITS)
    .replace(/[\ud800-\udbff]$/, "")
    .trimEnd()}…`;
}

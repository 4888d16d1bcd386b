/** Decodes character references (`&copy;`, `&#169;`), which Markdown tokens and subtitles contain undecoded. */
import { decodeHTMLStrict } from "entities";

/**
 * Replaces the references in a text; unknown names stay unchanged. A number that is no character is left out: the library
 * returns U+FFFD for it, which no text at this place contains otherwise, because damaged texts are refused.
 */
export const decodeEntities = (text: string): string =>
  text.includes("&") ? decodeHTMLStrict(text).replaceAll("\ufffd", "") : text;

/** Owns the cleaning of text that the service wrote, before anybody reads it; knows no field and no sink. */
import { firstCodePoints } from "../contract/unicode.ts";

export const SERVICE_TEXT_MAX_CODE_POINTS = 500;

/** Controls (line breaks too), format and bidi characters, anything invisible, half surrogates, line separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const BLANKS = /\s+/gu;
/** Quotation marks that could end, or seem to end, our own quoting. */
const QUOTES = /["\u201c-\u201f\u00ab\u00bb\u2033\u2036\u275d\u275e\u300c-\u300f\u301d-\u301f\uff02]/gu;

/**
 * Text of the service made fit to show: nothing invisible, one line, at most 500 code points (design 7).
 *
 * @param limit most code points to keep; what is cut off is marked by an ellipsis
 */
export function cleanServiceText(text: string, limit: number = SERVICE_TEXT_MAX_CODE_POINTS): string {
  // Far more than can be kept, so that a megabyte of message costs nothing.
  const bounded = text.slice(0, limit * 16);
  const oneLine = bounded
    .replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/gu, " ")
    .replace(UNSEEN, "")
    .replace(BLANKS, " ")
    .trim();
  const kept = firstCodePoints(oneLine, limit);
  return kept.length === oneLine.length ? kept : `${firstCodePoints(oneLine, limit - 1)}…`;
}

/** The service's words, cleaned, inside quotation marks that they cannot close: `"no such task"`. */
export function quoteServiceText(text: string): string {
  return `"${cleanServiceText(text).replace(QUOTES, "'")}"`;
}

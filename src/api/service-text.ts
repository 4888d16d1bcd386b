/** Makes text that the service wrote fit to show: cleaned, without the API key, and withheld where it reads like orders. */
import { firstCodePoints } from "../contract/unicode.ts";
import { createDetector, createRedact } from "../redaction.ts";

export const SERVICE_TEXT_MAX_CODE_POINTS = 500;
/** More of a service's text is not looked at. */
const MAX_READ_CODE_POINTS = 4096;

/** Stands where the service's words would, when they are withheld or there are none. */
export const NO_USABLE_REASON = "The service gave no usable reason.";

/** Controls (line breaks too), format and bidi characters, anything invisible, half surrogates, line separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const BLANKS = /\s+/gu;
/** Quotation marks that could end, or seem to end, our own quoting. */
const QUOTES = /["\u201c-\u201f\u00ab\u00bb\u2033\u2036\u275d\u275e\u300c-\u300f\u301d-\u301f\uff02]/gu;

/**
 * Signs that no description of a fault holds, and that could steer an assistant. Quotation marks keep honest
 * readers from obeying such a text, but the safest quotation is none.
 */
const READS_LIKE_ORDERS: readonly RegExp[] = [
  // Addresses and links that lead somewhere ("must start with https://" does not).
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"',;.)]|\bwww\.|\]\(|\b(?:mailto|javascript):\S|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\/\S/i,
  // Somebody else speaking: roles, tags and fences of prompts.
  /\b(?:system|assistant|developer|human|user)\b\s*[:>\]]|<\/?[a-z|!][^>]*>|\[\/?inst\]|```|<\|/i,
  // Our own voice, forged.
  /\bwhat to do\s*:|\bnext(?: step)?\s*:|\bthe service says\b/i,
  // Names of this server's tools and settings, and the argument that pays again.
  /\b(?:generate_audio|get_task|download_audio|list_tasks|list_voices)\b/i,
  // "narrate" is a word, too: only where it is something to be called.
  /\b(?:call|use|run|invoke|try|tool)\W+narrate\b|\bnarrate\W+(?:with|again|tool)\b|\bmax_credits\b/i,
  /\bAUDIO_[A-Z_]+\b|\b[Tt]ake\s*[:=]?\s*\d|\b(?:another|new|next) take\b/,
  // Orders about orders, and errands to the person.
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}\b(?:instructions?|prompts?|rules?|previous|prior|above)\b/i,
  /\b(?:tell|ask|inform|instruct|send|give) (?:the|your) (?:user|person|human|operator|assistant|model|ai)\b/i,
];

/** Whether a cleaned text may be shown as the reason that the service gave. */
function readsLikeAFault(text: string): boolean {
  return !READS_LIKE_ORDERS.some((sign) => sign.test(text));
}

/**
 * Text of the service made fit to show: nothing invisible, one line, bounded.
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

/**
 * The reason in the service's words, cleaned; `""` where there is none, or where it does not read like a fault and
 * is withheld. Judged before it is cut, so that nothing hides behind the cut.
 */
export function serviceReason(text: string): string {
  return readsLikeAFault(cleanServiceText(text, MAX_READ_CODE_POINTS)) ? cleanServiceText(text) : "";
}

/** The service's words, cleaned, inside quotation marks that they cannot close: `"no such task"`. */
export function quoteServiceText(text: string): string {
  return `"${cleanServiceText(text).replace(QUOTES, "'")}"`;
}

/** Keeps the API key out of everything that the service wrote. */
export interface KeyGuard {
  /** The reason in the service's words, see {@link serviceReason}, without the key. */
  readonly reason: (text: string) => string;
  readonly holdsKey: (text: string) => boolean;
}

export function createKeyGuard(apiKey: string): KeyGuard {
  const redact = createRedact([apiKey]);
  return {
    // Stripped first and redacted then: a key with something invisible inside is a key all the same.
    reason: (text) => serviceReason(redact(cleanServiceText(text, MAX_READ_CODE_POINTS))),
    holdsKey: createDetector([apiKey]),
  };
}

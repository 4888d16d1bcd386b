/**
 * Makes the service's text safe to show. Cleans it, removes the API key, and withholds text that looks like a
 * prompt injection.
 */
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { createDetector, createRedact } from "../redaction.ts";

const MAX_SERVICE_TEXT_CODE_POINTS = 500;
/** Maximum number of code points to examine in a text of the service. The rest of the text is dropped. */
const MAX_READ_CODE_POINTS = 4096;

/** Replaces the service's message if it is withheld or missing. */
export const NO_USABLE_REASON = "The service gave no usable reason.";

/**
 * Matches control characters (including line breaks), format and bidi characters, all invisible characters, lone
 * surrogates and line separators.
 */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const WHITE_SPACE = /\s+/gu;
/** Matches quotation marks that could end, or seem to end, a quotation of the service's text. */
const QUOTATION_MARKS =
  /["\u201c-\u201f\u00ab\u00bb\u2033\u2036\u275d\u275e\u300c-\u300f\u301d-\u301f\uff02]/gu;

/**
 * Patterns of prompt injection, which do not match real descriptions of errors. A text that matches is withheld,
 * because quotation marks alone do not reliably stop an assistant from obeying the text.
 */
const INJECTION_PATTERNS: readonly RegExp[] = [
  // Addresses and links. Does not match the words "must start with https://", because a real description of an error
  // may contain them.
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"',;.)]|\bwww\.|\]\(|\b(?:mailto|javascript):\S|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\/\S/i,
  // Role names, tags and code fences as they occur in prompts.
  /\b(?:system|assistant|developer|human|user)\b\s*[:>\]]|<\/?[a-z|!][^>]*>|\[\/?inst\]|```|<\|/i,
  // Text that imitates this server's own messages.
  /\bwhat to do\s*:|\bnext(?: step)?\s*:|\bthe service says\b/i,
  // Names of this server's tools and settings, and the arguments that allow a charge (`take`, `max_credits`).
  /\b(?:generate_audio|get_task|download_audio|list_tasks|list_voices)\b/i,
  // "narrate" is also an ordinary word, so match it only as a tool to call.
  /\b(?:call|use|run|invoke|try|tool)\W+narrate\b|\bnarrate\W+(?:with|again|tool)\b|\bmax_credits\b/i,
  /\bAUDIO_[A-Z_]+\b|\b[Tt]ake\s*[:=]?\s*\d|\b(?:another|new|next) take\b/,
  // Orders to ignore instructions, and orders to address the user or the assistant.
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}\b(?:instructions?|prompts?|rules?|previous|prior|above)\b/i,
  /\b(?:tell|ask|inform|instruct|send|give) (?:the|your) (?:user|person|human|operator|assistant|model|ai)\b/i,
];

/** Whether a cleaned text may be shown as the service's reason. */
function isSafeReason(text: string): boolean {
  return !INJECTION_PATTERNS.some((sign) => sign.test(text));
}

/**
 * Cleans a text of the service: removes invisible characters, joins lines, limits the length.
 *
 * @param limit maximum number of code points to return. A longer text is cut and ends with an ellipsis.
 */
export function cleanServiceText(text: string, limit: number = MAX_SERVICE_TEXT_CODE_POINTS): string {
  // Cut early, so that cleaning a message of a megabyte takes no time.
  const bounded = text.slice(0, limit * 16);
  const oneLine = bounded
    .replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/gu, " ")
    .replace(INVISIBLE_CHARACTERS, "")
    .replace(WHITE_SPACE, " ")
    .trim();
  const keptText = takeFirstCodePoints(oneLine, limit);
  return keptText.length === oneLine.length ? keptText : `${takeFirstCodePoints(oneLine, limit - 1)}…`;
}

/**
 * Returns the service's reason, cleaned; `""` if it is missing or withheld. Searches {@link MAX_READ_CODE_POINTS} code
 * points for a prompt injection. Returns at most {@link MAX_SERVICE_TEXT_CODE_POINTS}.
 */
export function sanitizeReason(text: string): string {
  return isSafeReason(cleanServiceText(text, MAX_READ_CODE_POINTS)) ? cleanServiceText(text) : "";
}

/**
 * Cleans and quotes a text of the service. Replaces the quotation marks in the text, so that the text cannot end the
 * quotation.
 */
export function quoteServiceText(text: string): string {
  return `"${cleanServiceText(text).replace(QUOTATION_MARKS, "'")}"`;
}

/** Removes the API key from the service's texts. */
export interface KeyGuard {
  /** Removes the key from a text, then applies {@link sanitizeReason}. */
  readonly sanitizeAndRedactReason: (text: string) => string;
  readonly containsKey: (text: string) => boolean;
}

/**
 * Creates the functions that keep one API key out of what this program shows. `containsKey` never finds a key of fewer
 * than 8 characters, because ordinary text may contain such a short key.
 */
export function createKeyGuard(apiKey: string): KeyGuard {
  const redact = createRedact([apiKey]);
  return {
    // Remove invisible characters before redacting, because they could hide a key.
    sanitizeAndRedactReason: (text) => sanitizeReason(redact(cleanServiceText(text, MAX_READ_CODE_POINTS))),
    containsKey: createDetector([apiKey]),
  };
}

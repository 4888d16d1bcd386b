/**
 * Finds the ends of sentences. A text must always be divided in the same way, so the rules are written here. Node's own
 * rules change between builds.
 */
import { CLOSERS, getCharacterAt, getCharacterBefore, hasWords, isCjk, OPENERS } from "../characters.ts";
import { isAbbreviation } from "./abbreviations.ts";

/**
 * Matches the marks that end a sentence, and the closing marks after them. Each of `. . .` and `? . . .` is one match.
 */
const SENTENCE_END = new RegExp(
  `([.!?…。！？．｡]+(?:[ \\u00a0]\\.+(?![\\p{L}\\p{N}]))*)([${CLOSERS}]*)`,
  "gu",
);
const SPACE_AND_OPENERS = new RegExp(`[\\s${OPENERS}]*`, "y");
const CJK_TERMINATOR = /[。！？．｡]/;
const CJK_OPENER = /[“‘「『（【《〈]/;
const HIRAGANA = /[\u3041-\u309f]/;

/** Whether the sentence continues after a quotation, as in `「…。」と言った`. */
const continuesAfterQuotation = (closers: string, next: string): boolean =>
  closers !== "" && HIRAGANA.test(next);

function endsSentence({
  index: startIndex,
  input: text,
  0: all,
  1: terminators = "",
  2: closers = "",
}: RegExpExecArray): boolean {
  const endIndex = startIndex + all.length;
  const next = getCharacterAt(text, endIndex);
  if (CJK_TERMINATOR.test(terminators)) return !continuesAfterQuotation(closers, next);
  const isAmongCjk = isCjk(next) || isCjk(getCharacterBefore(text, startIndex));
  // In Chinese and Japanese, an ellipsis alone is usually a pause inside a sentence. It ends the sentence in two
  // places: before an opening quotation mark, and at the end of a quotation after which the sentence does not continue.
  if (/^…+$/.test(terminators) && isAmongCjk) {
    return closers === "" ? CJK_OPENER.test(next) : !continuesAfterQuotation(closers, next);
  }
  const hasSpace = /\s/.test(next);
  if (!hasSpace && !isCjk(next)) return false;
  SPACE_AND_OPENERS.lastIndex = endIndex;
  SPACE_AND_OPENERS.test(text);
  const first = getCharacterAt(text, SPACE_AND_OPENERS.lastIndex);
  if (/\p{Ll}/u.test(first) || continuesAfterQuotation(closers, next)) return false;
  if (terminators === "." && !/[”’"'»]/.test(closers)) return !isAbbreviation(text, startIndex, first);
  return true;
}

/**
 * Finds where the sentences of a paragraph begin, except the first. An intended line break ends a sentence.
 *
 * @returns indexes, ascending
 */
export function findSentenceStarts(text: string): number[] {
  const starts: number[] = [];
  const lines = text.split("\n");
  let offset = 0;
  for (const line of lines) {
    if (offset > 0 && line !== "") starts.push(offset);
    const first = starts.length;
    for (const match of line.matchAll(SENTENCE_END)) {
      const endIndex = match.index + match[0].length;
      if (endIndex >= line.trimEnd().length) break;
      if (!endsSentence(match)) continue;
      const start = endIndex + (/^\s*/.exec(line.slice(endIndex))?.[0].length ?? 0);
      const begun = starts.length > first ? (starts.at(-1) ?? 0) - offset : 0;
      // Join text without words to the sentence after it.
      if (hasWords(line.slice(begun, start))) starts.push(offset + start);
    }
    offset += line.length + 1;
  }
  return starts;
}

/** Divides a part's text into sentences, for captions. */
export function splitSentences(text: string): string[] {
  const starts = findSentenceStarts(text);
  return [0, ...starts]
    .map((start, index) => text.slice(start, starts[index]).trim())
    .filter((sentence) => sentence !== "");
}

/**
 * Character classes for dividing text. They are written here, because a text must always be divided in the same way.
 * Node's own rules change between builds.
 */

/** Scripts that are written without spaces between words, and their punctuation. */
const CJK_CHARACTER =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u3000-\u303f\u30fb\u30fc\uff00-\uffef]/u;

/** Punctuation that Chinese and Japanese share with other languages; the character beside it decides its script. */
const SHARED_PUNCTUATION = /[\u2010-\u2027\u00b7]/u;

/** Marks that end a quotation or a bracket. */
export const CLOSERS = "”’\"'»」』)）\\]】》〉›";

/** Marks that may precede the first word of a sentence, including dialogue dashes. */
export const OPENERS = "“‘„\"'«‹「『(（\\[【《〈¿¡—–-";

/** The end of a sentence, with the marks that close a quotation or a bracket. */
export const ENDS_SENTENCE = /[.!?…。！？][”’"'»」』)）]*\s*$/;

export const isCjk = (character: string): boolean => CJK_CHARACTER.test(character);

/** Whether a line break between two characters is removed without a space. */
export function isJoinedWithoutSpace(before: string, after: string): boolean {
  if (isCjk(before)) return isCjk(after) || SHARED_PUNCTUATION.test(after);
  return SHARED_PUNCTUATION.test(before) && isCjk(after);
}

/** Whether a text contains anything to speak: a letter or a digit. */
export const hasWords = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/** Whether a line is missing or has only white space. */
export const isBlank = (line: string | undefined): boolean => line === undefined || !/\S/.test(line);

/** Returns the code point before an index. */
export function getCharacterBefore(text: string, index: number): string {
  const unit = text.charCodeAt(index - 1);
  const isLow = unit >= 0xdc00 && unit <= 0xdfff && index > 1;
  return text.slice(isLow ? index - 2 : Math.max(index - 1, 0), index);
}

/** Returns the code point at an index; empty at the end. */
export function getCharacterAt(text: string, index: number): string {
  const codePoint = text.codePointAt(index);
  return codePoint === undefined ? "" : String.fromCodePoint(codePoint);
}

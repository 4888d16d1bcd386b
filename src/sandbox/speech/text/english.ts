/** Converts English words and numbers to tokens in ASCII. The engine itself finds their pronunciation. */
import type { SpeechToken } from "./tokens.ts";

/** Number of letters in the longest word that the engine's letter-to-sound rules accept. */
const MAX_LETTERS = 16;
/**
 * Maximum number of consecutive digits that are read as a quantity. A number with a longer run of digits is read digit
 * by digit, like a code.
 */
const MAX_QUANTITY_DIGITS = 6;

/** Replacements for letters that Unicode does not decompose into an ASCII letter and marks. */
const LETTER_REPLACEMENTS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "th",
  þ: "th",
  ł: "l",
  ı: "i",
  ŋ: "ng",
  ħ: "h",
  ŧ: "t",
  ə: "a",
};

/** The replacement for a Latin letter that has no ASCII equivalent and no entry in {@link LETTER_REPLACEMENTS}. */
const UNKNOWN_LETTER_REPLACEMENT = "a";

/**
 * Converts a word to one or more tokens.
 *
 * @param word Latin letters and apostrophes, in lower case
 */
export function readEnglishWord(word: string): SpeechToken[] {
  const ascii = [...word.normalize("NFD").replace(/\p{M}/gu, "")]
    .map((letter) =>
      /[a-z']/.test(letter) ? letter : (LETTER_REPLACEMENTS[letter] ?? UNKNOWN_LETTER_REPLACEMENT),
    )
    .join("")
    .replace(/^'+|'+$/g, "");
  const pieces = ascii.match(new RegExp(`.{1,${MAX_LETTERS}}`, "g")) ?? [];
  return pieces.map((text) => ({ kind: "word", text }));
}

/**
 * Converts a number to tokens.
 *
 * @param number ASCII digits, with points, commas or colons between them
 */
export function readEnglishNumber(number: string): SpeechToken[] {
  const longest = Math.max(...number.split(/\D+/).map((digits) => digits.length));
  const isQuantity = longest <= MAX_QUANTITY_DIGITS && number.length <= MAX_LETTERS;
  const texts = isQuantity ? [number] : (number.match(/\d/g) ?? []);
  return texts.map((text) => ({ kind: "word", text }));
}

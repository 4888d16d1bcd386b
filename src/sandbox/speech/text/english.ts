/** Decides what of an English word or number reaches the engine, which reads both by itself. */
import type { SpeechToken } from "./tokens.ts";

/** The engine's letter-to-sound rules take no more at once. */
const LETTERS_MAX = 16;
/** A longer row of digits is a code rather than a quantity, and is read one by one. */
const QUANTITY_DIGITS_MAX = 6;

/** Letters that do not come apart into an ASCII letter and marks. */
const UNSTRIPPABLE: Readonly<Record<string, string>> = {
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

/** Whatever Latin letter has no ASCII one is said as this. */
const STRANGE_LETTER = "a";

/** @param word Latin letters and apostrophes, in lower case */
export function readEnglishWord(word: string): SpeechToken[] {
  const ascii = [...word.normalize("NFD").replace(/\p{M}/gu, "")]
    .map((letter) => (/[a-z']/.test(letter) ? letter : (UNSTRIPPABLE[letter] ?? STRANGE_LETTER)))
    .join("")
    .replace(/^'+|'+$/g, "");
  const pieces = ascii.match(new RegExp(`.{1,${LETTERS_MAX}}`, "g")) ?? [];
  return pieces.map((text) => ({ kind: "word", text }));
}

/** @param number ASCII digits, with points, commas or colons between them */
export function readEnglishNumber(number: string): SpeechToken[] {
  const longest = Math.max(...number.split(/\D+/).map((digits) => digits.length));
  const isQuantity = longest <= QUANTITY_DIGITS_MAX && number.length <= LETTERS_MAX;
  const texts = isQuantity ? [number] : (number.match(/\d/g) ?? []);
  return texts.map((text) => ({ kind: "word", text }));
}

/**
 * Parses chapter numbers: figures, Roman numerals, Chinese numerals, and number words (cardinal and ordinal) of the
 * service's languages.
 */
import { ARTICLES, NUMBER_CONNECTORS, NUMBER_WORDS, ORDINAL_SUFFIXES } from "./chapter-words.ts";

/** Maximum number of words in one number, as in `veinte y dos`, `vinte e um`, `dua puluh`. */
const MAX_TOKENS = 4;

function parseNumberWords(text: string): number | null {
  const tokens = text
    .toLowerCase()
    .split(/[ -]/)
    .filter((token, index) => !NUMBER_CONNECTORS.has(token) && !(index === 0 && ARTICLES.has(token)));
  if (tokens.length === 0 || tokens.length > MAX_TOKENS) return null;
  let value = 0;
  for (const token of tokens) {
    if (token === "puluh") value *= 10;
    else if (token === "belas") value += 10;
    else {
      const wordValue = NUMBER_WORDS.get(token);
      if (wordValue === undefined) return null;
      value = wordValue === 100 && value > 0 && value < 10 ? value * 100 : value + wordValue;
    }
  }
  return value;
}

const ROMAN_DIGITS: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
const ROMAN_FORM = /^M{0,3}(?:CM|CD|D?C{0,4})(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})$/;

function parseRoman(text: string): number | null {
  if (!/^[ivxlcdm]+$/i.test(text)) return null;
  const upper = text.toUpperCase();
  if (!ROMAN_FORM.test(upper)) return null;
  let value = 0;
  for (let index = 0; index < upper.length; index += 1) {
    const digitValue = ROMAN_DIGITS[upper.charAt(index)] ?? 0;
    value += digitValue < (ROMAN_DIGITS[upper.charAt(index + 1)] ?? 0) ? -digitValue : digitValue;
  }
  return value;
}

const CJK_DIGITS = "〇一二三四五六七八九";
const CJK_UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 };

function parseCjkNumber(text: string): number | null {
  if (!/^[〇零一二三四五六七八九十百千两兩廿卅]+$/.test(text)) return null;
  const plain = text
    .replaceAll("零", "〇")
    .replace(/[两兩]/g, "二")
    .replaceAll("廿", "二十")
    .replaceAll("卅", "三十");
  if (!/[十百千]/.test(plain)) return Number([...plain].map((digit) => CJK_DIGITS.indexOf(digit)).join(""));
  let value = 0;
  let digit = 0;
  for (const character of plain) {
    const unit = CJK_UNITS[character];
    if (unit === undefined) digit = CJK_DIGITS.indexOf(character);
    else {
      value += Math.max(1, digit) * unit;
      digit = 0;
    }
  }
  return value + digit;
}

export type NumeralStyle = "digits" | "roman" | "words" | "cjk";

export interface Numeral {
  readonly style: NumeralStyle;
  readonly value: number;
}

const DIGITS_FORM = new RegExp(`^\\d{1,4}(?:${[...ORDINAL_SUFFIXES].join("|")})?$`, "i");

/**
 * Parses a chapter number.
 *
 * @returns `null` if the text is not a number
 */
export function parseNumeral(text: string): Numeral | null {
  const asciiDigits = text.replace(/[０-９]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));
  if (DIGITS_FORM.test(asciiDigits)) return { style: "digits", value: Number.parseInt(asciiDigits, 10) };
  const roman = parseRoman(text);
  if (roman !== null) return { style: "roman", value: roman };
  const cjk = parseCjkNumber(text);
  if (cjk !== null) return { style: "cjk", value: cjk };
  const words = parseNumberWords(text);
  return words === null ? null : { style: "words", value: words };
}

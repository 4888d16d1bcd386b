/**
 * Parses chapter numbers: figures, Roman numerals, Chinese numerals, and number words (cardinal and ordinal) of the
 * service's languages.
 */
import { ARTICLES, NUMBER_CONNECTORS, NUMBER_WORDS, ORDINAL_SUFFIXES } from "./chapter-words.ts";

/** Maximum number of words in one number, as in `veinte y dos`, `vinte e um`, `dua puluh satu`. */
const MAX_NUMBER_WORDS = 3;
const LETTERS = /\p{L}+/uy;

/** Reads the spelt numbers with which a text begins, the longest first, each with the index of its end. */
function readNumberWords(text: string): Array<readonly [value: number, end: number]> {
  const found: Array<readonly [number, number]> = [];
  let value = 0;
  for (let start = 0; found.length < MAX_NUMBER_WORDS; start = LETTERS.lastIndex + 1) {
    LETTERS.lastIndex = start;
    const word = LETTERS.exec(text)?.[0].toLowerCase() ?? "";
    const wordValue = NUMBER_WORDS.get(word);
    const isSilent = wordValue === undefined && (found.length === 0 ? ARTICLES : NUMBER_CONNECTORS).has(word);
    if (word === "puluh") value *= 10;
    else if (word === "belas") value += 10;
    else if (wordValue !== undefined)
      value = wordValue === 100 && value > 0 && value < 10 ? value * 100 : value + wordValue;
    else if (!isSilent) break;
    if (!isSilent) found.unshift([value, LETTERS.lastIndex]);
    if (!/^[ -]/.test(text.charAt(LETTERS.lastIndex))) break;
  }
  return found;
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

const DIGITS_PATTERN = `\\d{1,4}(?:${[...ORDINAL_SUFFIXES].join("|")})?`;
const IS_DIGITS = new RegExp(`^${DIGITS_PATTERN}$`, "i");
export const CJK_NUMBER_PATTERN = "[0-9０-９〇零一二三四五六七八九十百千两兩廿卅]{1,7}";
const FIGURES = new RegExp(`^(?:${DIGITS_PATTERN}|[IVXLCDM]{1,12}|${CJK_NUMBER_PATTERN})(?!\\p{L})`, "iu");

/**
 * Parses a chapter number.
 *
 * @returns `null` if the text is not a number
 */
export function parseNumeral(text: string): Numeral | null {
  const asciiDigits = text.replace(/[０-９]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));
  if (IS_DIGITS.test(asciiDigits)) return { style: "digits", value: Number.parseInt(asciiDigits, 10) };
  const roman = parseRoman(text);
  if (roman !== null) return { style: "roman", value: roman };
  const cjk = parseCjkNumber(text);
  if (cjk !== null) return { style: "cjk", value: cjk };
  const [value] = readNumberWords(text).find(([, end]) => end === text.length) ?? [];
  return value === undefined ? null : { style: "words", value };
}

/**
 * Reads the numbers with which a text begins, each with the index of its end. The longest is the first, because `Dua
 * Puluh Satu` is 21, although it begins with `Dua` (2).
 */
export function readNumerals(text: string): Array<readonly [numeral: Numeral, end: number]> {
  const [figures = ""] = FIGURES.exec(text) ?? [];
  const numeral = figures === "" ? null : parseNumeral(figures);
  if (numeral !== null) return [[numeral, figures.length]];
  return readNumberWords(text).map(([value, end]) => [{ style: "words", value }, end]);
}

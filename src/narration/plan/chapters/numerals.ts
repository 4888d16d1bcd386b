/** Parses chapter numbers: figures, Roman, Chinese, and words of the service's languages, including ordinals. */

const WORDS: Readonly<Record<string, readonly string[]>> = {
  en: "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  ),
  enth: "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split(
    " ",
  ),
  es: "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve".split(
    " ",
  ),
  esth: "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo undécimo duodécimo decimotercero decimocuarto decimoquinto decimosexto decimoséptimo decimoctavo decimonoveno".split(
    " ",
  ),
  pt: "um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove".split(
    " ",
  ),
  ptth: "primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo".split(" "),
  id: "satu dua tiga empat lima enam tujuh delapan sembilan sepuluh sebelas".split(" "),
  idth: "pertama kedua ketiga keempat kelima keenam ketujuh kedelapan kesembilan kesepuluh kesebelas".split(
    " ",
  ),
};

const TENS: ReadonlyArray<readonly [words: string, tens: number]> = [
  ["twenty twentieth veinte vigésimo vinte", 20],
  ["thirty thirtieth treinta trigésimo trinta", 30],
  ["forty fortieth cuarenta cuadragésimo quarenta", 40],
  ["fifty fiftieth cincuenta cinquenta", 50],
  ["sixty sixtieth sesenta sessenta", 60],
  ["seventy seventieth setenta", 70],
  ["eighty eightieth ochenta oitenta", 80],
  ["ninety ninetieth noventa", 90],
  ["hundred ciento cien cento cem", 100],
];

const VALUES = new Map<string, number>();
for (const words of Object.values(WORDS)) {
  for (const [index, word] of words.entries()) VALUES.set(word, index + 1);
}
for (const [words, value] of TENS) for (const word of words.split(" ")) VALUES.set(word, value);
for (const [word, value] of [
  ["primera", 1],
  ["segunda", 2],
  ["tercera", 3],
  ["cuarta", 4],
  ["quinta", 5],
  ["sexta", 6],
  ["séptima", 7],
  ["octava", 8],
  ["novena", 9],
  ["décima", 10],
  ["primer", 1],
  ["tercer", 3],
  ["primeira", 1],
  ["terceira", 3],
  ["quarta", 4],
  ["sétima", 7],
  ["oitava", 8],
  ["nona", 9],
  ["quatorze", 14],
] as const)
  VALUES.set(word, value);

/** Maximum number of words in one number, as in `veinte y dos`, `vinte e um`, `dua puluh`. */
const MAX_TOKENS = 4;

function wordsValue(text: string): number | null {
  const tokens = text
    .toLowerCase()
    .replace(/^the /, "")
    .split(/[ -]/)
    .filter((token) => !/^(?:y|e|and)$/.test(token));
  if (tokens.length === 0 || tokens.length > MAX_TOKENS) return null;
  let value = 0;
  for (const token of tokens) {
    if (token === "puluh") value *= 10;
    else if (token === "belas") value += 10;
    else {
      const one = VALUES.get(token);
      if (one === undefined) return null;
      value = one === 100 && value > 0 && value < 10 ? value * 100 : value + one;
    }
  }
  return value;
}

const ROMAN: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
const ROMAN_FORM = /^M{0,3}(?:CM|CD|D?C{0,4})(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})$/;

function romanValue(text: string): number | null {
  if (!/^[ivxlcdm]+$/i.test(text)) return null;
  const upper = text.toUpperCase();
  if (!ROMAN_FORM.test(upper)) return null;
  let value = 0;
  for (let index = 0; index < upper.length; index += 1) {
    const one = ROMAN[upper.charAt(index)] ?? 0;
    value += one < (ROMAN[upper.charAt(index + 1)] ?? 0) ? -one : one;
  }
  return value;
}

const CJK_DIGITS = "〇一二三四五六七八九";
const CJK_UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 };

function cjkValue(text: string): number | null {
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

export type NumeralStyle = "figures" | "roman" | "words" | "cjk";

export interface Numeral {
  readonly style: NumeralStyle;
  readonly value: number;
}

/** @returns `null` if the text is not a number */
export function numeralOf(text: string): Numeral | null {
  const figures = text.replace(/[０-９]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));
  if (/^\d{1,4}(?:st|nd|rd|th|[ºª°])?$/i.test(figures))
    return { style: "figures", value: Number.parseInt(figures, 10) };
  const roman = romanValue(text);
  if (roman !== null) return { style: "roman", value: roman };
  const cjk = cjkValue(text);
  if (cjk !== null) return { style: "cjk", value: cjk };
  const words = wordsValue(text);
  return words === null ? null : { style: "words", value: words };
}

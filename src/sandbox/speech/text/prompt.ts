/**
 * Converts a prompt to tokens: cleans the text, divides it into runs of one script, and passes each run to the
 * reader of its language.
 */
import type { Language } from "../../../contract/voices.ts";
import { readEnglishNumber, readEnglishWord } from "./english.ts";
import { readJapaneseDigit, readKana } from "./japanese.ts";
import { detectLatinLanguage, type LatinLanguage } from "./latin-detection.ts";
import { readSpelledDigit, readSpelledWord } from "./latin-languages.ts";
import { readHan, readMandarinDigit } from "./mandarin.ts";
import { readOtherScript } from "./other-alphabets.ts";
import { LONG_PAUSE, SHORT_PAUSE, type SpeechToken } from "./tokens.ts";

const EMOJI =
  /\p{RGI_Emoji}|[0-9#*]\uFE0F?\u20E3|\p{Extended_Pictographic}|\p{Regional_Indicator}|[\uFE00-\uFE0F\u200D]/gv;

/**
 * The English words by which signs such as `%` are read. Signs are read only in a prompt that also contains a letter or
 * a digit. A prompt without letters and digits counts as unspeakable.
 */
const SIGN_NAMES: Readonly<Record<string, string>> = {
  "&": "and",
  "%": "percent",
  "+": "plus",
  "=": "equals",
  "@": "at",
  $: "dollars",
  "€": "euros",
  "£": "pounds",
  "¥": "yen",
  "°": "degrees",
  "<": "less than",
  ">": "greater than",
};

/**
 * Matches one run of characters of one kind. `other` comes after the named scripts, because `other` would match their
 * letters too.
 */
const RUN =
  /(?<han>[\p{Script=Han}]+)|(?<kana>[\p{Script=Hiragana}\p{Script=Katakana}ー]+)|(?<latin>\p{Script=Latin}[\p{Script=Latin}\p{M}'’]*)|(?<number>\p{Nd}+(?:[.,:]\p{Nd}+)*)|(?<other>[\p{L}\p{Nl}\p{No}][\p{L}\p{M}\p{Nl}\p{No}]*)|(?<sign>[&%+=@$€£¥°<>])|(?<long>[.!?。！？…;；\n]+)|(?<short>[,،、，:：()（）「」“”"—–]+)/gu;

/**
 * Matches the end of a sentence. A full stop counts only before white space, because elsewhere it may belong to a
 * number or a host name.
 */
const SENTENCE_END = /(?<=[!?。！？\n]|\.(?=\s))/u;

function cleanPrompt(prompt: string): string {
  return prompt
    .replace(EMOJI, " ")
    .normalize("NFKC")
    .replace(/@audio\s*([123])/giu, " audio $1 ")
    .toLowerCase();
}

/** Converts digits of any script to ASCII. In Unicode each script has its ten digits in a row, beginning with 0. */
function toAsciiDigits(number: string): string {
  return number.replace(/\p{Nd}/gu, (digit) => {
    const codePoint = digit.codePointAt(0) ?? 0;
    let value = 0;
    while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(codePoint - value - 1))) value += 1;
    return String(value);
  });
}

type NumberLanguage = LatinLanguage | "zh" | "ja";

function readNumber(number: string, language: NumberLanguage): SpeechToken[] {
  const ascii = toAsciiDigits(number);
  if (language === "en") return readEnglishNumber(ascii);
  const digits = (ascii.match(/\d/g) ?? []).map(Number);
  if (language === "zh") return digits.flatMap(readMandarinDigit);
  if (language === "ja") return digits.flatMap(readJapaneseDigit);
  return digits.flatMap((digit) => readSpelledDigit(digit, language));
}

/** Chooses the language of numbers by the script of the sentence around them. */
function chooseNumberLanguage(sentence: string, latin: LatinLanguage): NumberLanguage {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(sentence)) return "ja";
  return /\p{Script=Han}/u.test(sentence) ? "zh" : latin;
}

async function readSentence(sentence: string, latin: LatinLanguage): Promise<SpeechToken[]> {
  const tokens: SpeechToken[] = [];
  for (const { groups = {} } of sentence.matchAll(RUN)) {
    const { han, kana, latin: word, number, other, sign, long, short } = groups;
    if (han !== undefined) tokens.push(...(await readHan(han)));
    else if (kana !== undefined) tokens.push(...(await readKana(kana)));
    else if (word !== undefined) {
      const plain = word.replaceAll("’", "'");
      tokens.push(...(latin === "en" ? readEnglishWord(plain) : readSpelledWord(plain, latin)));
    } else if (number !== undefined)
      tokens.push(...readNumber(number, chooseNumberLanguage(sentence, latin)));
    else if (other !== undefined) tokens.push(...readOtherScript(other));
    else if (sign !== undefined) {
      tokens.push(...(SIGN_NAMES[sign] ?? "").split(" ").flatMap((name) => readEnglishWord(name)));
    } else if (long !== undefined) tokens.push(LONG_PAUSE);
    else if (short !== undefined) tokens.push(SHORT_PAUSE);
  }
  return tokens;
}

function chooseLatinDefault(languages: readonly Language[]): LatinLanguage {
  if (languages.length === 0 || languages.includes("en")) return "en";
  return languages.find((language) => language === "es" || language === "pt" || language === "id") ?? "en";
}

/**
 * Reads a prompt sentence by sentence, each in its detected language.
 *
 * @param voiceLanguages languages of the voice, used if no language is detected; empty without a voice
 * @returns the tokens; none if the prompt has no letter and no digit, for example only emoji
 */
export async function readPrompt(
  prompt: string,
  voiceLanguages: readonly Language[],
): Promise<SpeechToken[]> {
  const text = cleanPrompt(prompt);
  if (!/[\p{L}\p{N}]/u.test(text)) return [];
  const fallback = detectLatinLanguage(text) ?? chooseLatinDefault(voiceLanguages);
  const tokens: SpeechToken[] = [];
  for (const sentence of text.split(SENTENCE_END)) {
    tokens.push(...(await readSentence(sentence, detectLatinLanguage(sentence) ?? fallback)));
  }
  return tokens;
}

/**
 * Guesses the language of a text. A text with much kana is Japanese. A text with many Han characters and little kana is
 * Chinese. In a text in Latin letters, the common words of each language are counted. The language with the highest
 * count is chosen if the count is high enough, and at least twice the count of every other language.
 */
import { isLanguage, type Language, nameLanguage, VOICES } from "./contract/voices.ts";

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Common words of each language. A few words occur in two languages. */
const COMMON_WORDS: Readonly<Record<string, ReadonlySet<string>>> = {
  en: wordSet("the and of that was with his her this which you from they would there were have what been"),
  es: wordSet("el los las una del y con su pero muy más ella cuando había usted este esta donde hasta él"),
  pt: wordSet("o os um uma do da dos não com mas ele ela muito mais quando você isso também são em à"),
  id: wordSet(
    "yang dan di itu dengan untuk tidak ini dari akan pada ke orang adalah sudah karena bisa saya mereka",
  ),
  fr: wordSet("le les des et est une dans que qui pas pour sur il elle avec mais au je vous ce"),
  de: wordSet("der die und das nicht ist ein eine sich mit den dem von zu auf auch er sie war für"),
  it: wordSet("il gli di che è un della non per sono con più nel anche ma questo alla come ed lo"),
  nl: wordSet("het een van niet dat zijn op te voor met maar ook aan hij naar bij werd hebben wordt deze"),
};

const SAMPLE_CODE_UNITS = 20_000;
const MIN_SHARE = 0.08;
const MIN_WORDS = 3;

/** Guesses the language of a text by the common words in it. Returns a code of two letters, or `null` if undecided. */
function guessLatinScriptLanguage(text: string): string | null {
  const words =
    text
      .slice(0, SAMPLE_CODE_UNITS)
      .toLowerCase()
      .match(/\p{L}+/gu) ?? [];
  const counts = Object.entries(COMMON_WORDS).map(([code, common]) => ({
    code,
    count: words.filter((word) => common.has(word)).length,
  }));
  counts.sort((one, other) => other.count - one.count);
  const [first, second] = counts;
  if (first === undefined || first.count < MIN_WORDS || first.count < MIN_SHARE * words.length) return null;
  return first.count >= 2 * (second?.count ?? 0) ? first.code : null;
}

/** Guesses which of the service's languages a text is in; `null` if undecided. */
export function guessServiceLanguage(text: string): Language | null {
  const sample = text.slice(0, SAMPLE_CODE_UNITS);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  const kana = sample.match(/[\u3041-\u30ff]/g)?.length ?? 0;
  const han = sample.match(/\p{Script=Han}/gu)?.length ?? 0;
  if (letters > 0 && kana > 0.1 * letters) return "ja";
  if (letters > 0 && han > 0.3 * letters) return "zh";
  const code = guessLatinScriptLanguage(sample);
  return code !== null && isLanguage(code) ? code : null;
}

/** The language of a text, with its name. `code` is `null` if the service has no voice for the language. */
export interface TextLanguage {
  readonly code: Language | null;
  readonly name: string;
}

/** Scripts of languages that no voice of the service speaks. */
const OTHER_SCRIPTS: ReadonlyArray<readonly [letters: RegExp, name: string]> = [
  [/\p{Script=Hangul}/gu, "Korean"],
  [/\p{Script=Cyrillic}/gu, "a language in Cyrillic letters"],
  [/\p{Script=Arabic}/gu, "a language in Arabic letters"],
  [/\p{Script=Devanagari}/gu, "a language in Devanagari"],
  [/\p{Script=Greek}/gu, "Greek"],
  [/\p{Script=Hebrew}/gu, "Hebrew"],
  [/\p{Script=Thai}/gu, "Thai"],
];
const SCRIPT_SHARE = 0.5;

/** Guesses the language of a text, including languages that the service does not speak; `null` if undecided. */
export function guessTextLanguage(text: string): TextLanguage | null {
  const sample = text.slice(0, SAMPLE_CODE_UNITS);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  for (const [script, name] of OTHER_SCRIPTS) {
    if ((sample.match(script)?.length ?? 0) > SCRIPT_SHARE * letters) return { code: null, name };
  }
  const served = guessServiceLanguage(sample);
  if (served !== null) return { code: served, name: nameLanguage(served) };
  const code = guessLatinScriptLanguage(sample);
  return code === null ? null : { code: null, name: nameLanguage(code) };
}

/**
 * Returns a note if the given voice does not speak the language of the text, or if no voice of the service speaks it.
 *
 * @param voice id of a voice; any other string stands for the service's default voice
 */
export function describeLanguageMismatch(text: string, voice: string): string[] {
  const language = guessTextLanguage(text);
  if (language === null) return [];
  if (language.code === null) {
    return [`The text seems to be in ${language.name}, which no voice of the service speaks.`];
  }
  const preset = VOICES.find(({ id }) => id === voice);
  const speaks = preset === undefined || preset.languages.some((code) => code === language.code);
  return speaks ? [] : [`The text seems to be in ${language.name}, which the voice ${voice} does not speak.`];
}

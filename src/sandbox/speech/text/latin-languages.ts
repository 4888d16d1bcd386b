/** Reads words and digits of Spanish, Portuguese and Indonesian. */
import { createSpellingReader, PLAIN_CONSONANTS } from "./spelling-rules.ts";
import { type SpeechToken, toPhoneTokens } from "./tokens.ts";

export type SpelledLanguage = "es" | "pt" | "id";

const spanish = createSpellingReader([
  ["ch", "ch"],
  ["ll", "y"],
  ["rr", "r"],
  ["qu(?=[eiéí])|q", "k"],
  ["gu(?=[eiéí])", "g"],
  ["gü", "g w"],
  ["g(?=[eiéí])|j", "hh"],
  ["c(?=[eiéí])|z", "s"],
  ["c", "k"],
  ["ñ", "n y"],
  ["x", "k s"],
  ["h", ""],
  ["v", "b"],
  ["i(?=[aeouáéó])", "y"],
  ["u(?=[aeioáéíó])", "w"],
  ["[aá]", "aa"],
  ["[eé]", "eh"],
  ["[ií]|y$", "iy"],
  ["[oó]", "ow"],
  ["[uúü]", "uw"],
  ...PLAIN_CONSONANTS,
]);

const portuguese = createSpellingReader([
  ["lh", "l y"],
  ["nh", "n y"],
  ["ch", "sh"],
  ["rr|^r", "hh"],
  ["ss|ç|c(?=[eiéêí])", "s"],
  ["qu(?=[eiéêí])|q", "k"],
  ["gu(?=[eiéêí])", "g"],
  ["g(?=[eiéêí])|j", "zh"],
  ["c", "k"],
  ["x", "sh"],
  ["(?<=[aeiou])s(?=[aeiou])", "z"],
  ["h", ""],
  ["d(?=[ií]|e$)", "jh"],
  ["t(?=[ií]|e$)", "ch"],
  ["ão", "aw ng"],
  ["õe", "oy ng"],
  ["ã", "ah ng"],
  ["õ", "ow ng"],
  ["(?:em|ém|êm)$", "ey ng"],
  ["m$", "ng"],
  ["l$", "uw"],
  ["o$", "uw"],
  ["e$", "iy"],
  ["[aáàâ]", "aa"],
  ["[eéê]", "eh"],
  ["[ií]", "iy"],
  ["[oóô]", "ow"],
  ["[uúü]", "uw"],
  ...PLAIN_CONSONANTS,
]);

const indonesian = createSpellingReader([
  ["ng(?=g)|ng", "ng"],
  ["ny", "n y"],
  ["sy", "sh"],
  ["kh|h", "hh"],
  ["ai$", "ay"],
  ["au$", "aw"],
  ["c", "ch"],
  ["j", "jh"],
  ["q", "k"],
  ["x", "k s"],
  ["a", "aa"],
  ["e(?=[^aeiou]+[aeiou])", "ah"],
  ["[eé]", "eh"],
  ["i", "iy"],
  ["o", "ow"],
  ["u", "uw"],
  ...PLAIN_CONSONANTS,
]);

const READERS = { es: spanish, pt: portuguese, id: indonesian };

const DIGIT_WORDS: Readonly<Record<SpelledLanguage, readonly string[]>> = {
  es: "cero uno dos tres cuatro cinco seis siete ocho nueve".split(" "),
  pt: "zero um dois três quatro cinco seis sete oito nove".split(" "),
  id: "nol satu dua tiga empat lima enam tujuh delapan sembilan".split(" "),
};

/**
 * Matches Spanish and Portuguese words that are stressed on the last syllable. These words end in a consonant other
 * than n, s and m (`papel`), in an accented vowel (`café`), or in an accented vowel and an o (`não`). After each of
 * these endings, an n or s may follow (`robots`, `inglés`).
 */
const STRESSED_AT_END = /(?:[^aeiouáéíóúâêôãõnsm]|[áéíóúâêôã]o?)[ns]?$/u;

/**
 * Reads a word by its language's rules.
 *
 * @param word in lower case and composed form, with its accents
 */
export function readSpelledWord(word: string, language: SpelledLanguage): SpeechToken[] {
  const stress = language !== "id" && STRESSED_AT_END.test(word) ? "last" : "penultimate";
  return toPhoneTokens(READERS[language](word), stress);
}

/** Reads a digit from 0 to 9 in the given language. */
export function readSpelledDigit(digit: number, language: SpelledLanguage): SpeechToken[] {
  return readSpelledWord(DIGIT_WORDS[language][digit] ?? "", language);
}

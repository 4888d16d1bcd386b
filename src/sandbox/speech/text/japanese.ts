/** Reads kana. The sandbox has no Japanese readings of kanji, so mandarin.ts reads them as Mandarin. */
import { createSpellingReader, PLAIN_CONSONANTS } from "./spelling-rules.ts";
import { type SpeechToken, toPhoneTokens } from "./tokens.ts";

const romaji = createSpellingReader([
  // Drop the first of two equal consonants, because the engine cannot lengthen a consonant.
  ["([kstpgzdbhfmrjwc])(?=\\1)", ""],
  ["t(?=ch)", ""],
  ["sh", "sh"],
  ["ch", "ch"],
  ["ts", "t s"],
  ["aa?", "aa"],
  ["ii?", "iy"],
  ["uu?", "uw"],
  ["ee|ei|e", "eh"],
  ["oo|ou|o", "ow"],
  ["n'?", "n"],
  ["h", "hh"],
  ["j", "jh"],
  ...PLAIN_CONSONANTS,
]);

/** Converts a run of hiragana or katakana to tokens. */
export async function readKana(text: string): Promise<SpeechToken[]> {
  const { toRomaji } = await import("wanakana");
  return toRomaji(text)
    .toLowerCase()
    .split(/\s+/)
    .flatMap((word) => toPhoneTokens(romaji(word), "penultimate"));
}

const DIGIT_WORDS = "zero ichi ni san yon go roku nana hachi kyuu".split(" ");

/** Returns how a digit from 0 to 9 is spoken in Japanese. */
export function readJapaneseDigit(digit: number): SpeechToken[] {
  return toPhoneTokens(romaji(DIGIT_WORDS[digit] ?? ""), "penultimate");
}

/**
 * Removes readings in parentheses behind Chinese and Japanese words, because they would be spoken twice. Evidence: form.
 * The reading has as many syllables as the word can have, and ends as the word does. Any other gloss is kept.
 */
import type { UnspokenList } from "../blocks.ts";

/**
 * A word of Chinese characters, perhaps with an ending in hiragana, before a reading in hiragana, pinyin or bopomofo.
 * Katakana may be a foreign word of the same meaning, and are kept.
 */
const READ_WORD =
  /(?<han>[\p{Script=Han}々ヶ]{1,10})(?<ending>[\u3041-\u3096]{0,4})[（(](?<reading>[\u3041-\u3096ー・ ]{2,30}|[\u3105-\u312fˊˇˋ˙ ]{1,40}|[a-zāáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜü'’ ]{2,60})[）)]/giu;
const TONE = /[āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜ]/i;
/** Words in kana that are said about a word, and are not its reading. */
const NO_READING =
  /^(?:など|だけ|のみ|まで|から|より|ほか|ばかり|くらい|ぐらい|ころ|ごろ|たち|とか|かも|らしい|そうだ|ではない|でない|じゃない|です|もの|こと|みたい|とも|または|および)$/;

function isReading(han: string, ending: string, reading: string): boolean {
  const count = [...han].length;
  if (/^\p{Script=Bopomofo}/u.test(reading)) return reading.trim().split(" ").length <= count;
  if (/[a-z]/i.test(reading)) {
    // Vowels in a row are one syllable, except across an apostrophe or a space.
    const syllables =
      reading
        .normalize("NFD")
        .replace(/\p{M}/gu, "")
        .match(/[aeiou]+/gi)?.length ?? 0;
    return ending === "" && TONE.test(reading) && syllables <= count;
  }
  const kana = reading.replace(/[・ ]/g, "");
  const stem = kana.slice(0, kana.length - ending.length);
  const mayBeRead = stem.length >= 1 && stem.length <= 4 * count && kana.length > 1;
  return kana.endsWith(ending) && mayBeRead && stem.length >= count / 2 && !NO_READING.test(kana);
}

/** Removes the readings from a paragraph, and keeps the words. */
export function withoutReadings(text: string, unspoken: UnspokenList): string {
  if (!/[\u3005\u3400-\u9fff][\u3041-\u3096]{0,4}[（(]/.test(text)) return text;
  return text.replace(READ_WORD, (all, han: string, ending: string, reading: string) => {
    if (!isReading(han, ending, reading)) return all;
    unspoken.add("ruby", all);
    return han + ending;
  });
}

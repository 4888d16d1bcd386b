/**
 * Approximates scripts that the service's six languages do not use, so that every letter is audible. Cyrillic,
 * Greek and Hangul are read by their letters; any other character becomes a made-up syllable.
 */
import { type SpeechToken, toPhoneTokens } from "./tokens.ts";

const CYRILLIC =
  "аaa бb вv гg дd еy-eh ёy-ow жzh зz иiy йy кk лl мm нn оao пp рr сs тt уuw фf хhh цt-s чch шsh щsh ыih эeh юy-uw яy-aa іiy їy-iy єy-eh ґg ўw јy љl-y њn-y џjh ћch ђjh ѓg ќk ѕd-z";
const GREEK = "αaa βv γg δdh εeh ζz ηiy θth ιiy κk λl μm νn ξk-s οow πp ρr σs ςs τt υiy φf χhh ψp-s ωow";

/** Parses entries such as `цt-s`: the letter `ц`, then its phones `t` and `s`, separated by a hyphen. */
function buildLetterTable(entries: string): ReadonlyMap<string, string> {
  return new Map(entries.split(" ").map((entry) => [entry.slice(0, 1), entry.slice(1).replaceAll("-", " ")]));
}

const LETTERS = new Map([...buildLetterTable(CYRILLIC), ...buildLetterTable(GREEK)]);

const HANGUL_FIRST = 0xac00;
const HANGUL_LAST = 0xd7a3;
const HANGUL_VOWEL_COUNT = 21;
const HANGUL_FINAL_COUNT = 28;
const hangulInitials = "g g n d d r m b b s s - jh jh ch k t p hh".split(" ");
const hangulVowels =
  "aa eh y-aa y-eh ah eh y-ah y-eh ow w-aa w-eh w-eh y-ow uw w-ah w-eh w-iy y-uw uh uh-iy iy".split(" ");
const hangulFinals = "- k k k n n n t l l l l l l l l m p p t t ng t t k t p t".split(" ");

/** Computes initial, vowel and final of a Hangul syllable from its code point. */
function toHangulPhones(codePoint: number): string {
  const index = codePoint - HANGUL_FIRST;
  const initial = hangulInitials[Math.floor(index / (HANGUL_VOWEL_COUNT * HANGUL_FINAL_COUNT))] ?? "-";
  const vowel = hangulVowels[Math.floor(index / HANGUL_FINAL_COUNT) % HANGUL_VOWEL_COUNT] ?? "aa";
  const final = hangulFinals[index % HANGUL_FINAL_COUNT] ?? "-";
  return [initial, vowel.replaceAll("-", " "), final].filter((phones) => phones !== "-").join(" ");
}

const SYLLABLE_ONSETS = "b d g k l m n p r s t v z hh".split(" ");
const SYLLABLE_VOWELS = "aa eh iy ow uw".split(" ");

/**
 * Makes up a syllable for a character. A character always gets the same syllable. Characters with consecutive code
 * points get different syllables.
 */
function makeUpSyllable(codePoint: number): string {
  const onset = SYLLABLE_ONSETS[codePoint % SYLLABLE_ONSETS.length];
  const vowel = SYLLABLE_VOWELS[codePoint % SYLLABLE_VOWELS.length];
  return `${onset} ${vowel}`;
}

/**
 * Converts a word to tokens.
 *
 * @param word letters of any script, in lower case and composed form
 */
export function readOtherScript(word: string): SpeechToken[] {
  const phones = [...word].map((letter) => {
    const codePoint = letter.codePointAt(0) ?? 0;
    if (codePoint >= HANGUL_FIRST && codePoint <= HANGUL_LAST) return toHangulPhones(codePoint);
    const known = LETTERS.get(letter) ?? LETTERS.get(letter.normalize("NFD").slice(0, 1));
    if (known !== undefined) return known;
    // Hard and soft signs have no sound of their own.
    return letter === "ъ" || letter === "ь" ? "" : makeUpSyllable(codePoint);
  });
  return toPhoneTokens(phones.join(" "), "penultimate");
}

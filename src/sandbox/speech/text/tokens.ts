/** Defines the tokens that the speech engine speaks: words, phones and pauses. */

const VOWELS: ReadonlySet<string> = new Set("aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw".split(" "));
const CONSONANTS: ReadonlySet<string> = new Set(
  "b ch d dh f g hh jh k l m n ng p r s sh t th v w y z zh".split(" "),
);

export type SpeechToken =
  /** An English word or number: ASCII letters, digits and `'.,:$%` only. */
  | { readonly kind: "word"; readonly text: string }
  /** A word of any language in the phones of American English. Each vowel ends in 1 if stressed, otherwise in 0. */
  | { readonly kind: "phones"; readonly phones: readonly string[] }
  | { readonly kind: "pause"; readonly length: "short" | "long" };

export const SHORT_PAUSE: SpeechToken = { kind: "pause", length: "short" };
export const LONG_PAUSE: SpeechToken = { kind: "pause", length: "long" };

/** Says which vowel of a word is stressed. A word with a single vowel is stressed on that vowel. */
export type Stress = "last" | "penultimate";

/**
 * Maximum number of phones passed to the engine as one word. A longer word, such as a long run of kana, is split,
 * because a phrase must stay short and can end only between words.
 */
const MAX_PHONES = 24;

/**
 * Converts the phones of a word to tokens with stress marks. A word of too many phones becomes several tokens.
 *
 * @param spelling phones of the CMU dictionary in lower case, separated by spaces, without stress: `n iy hh aw`
 * @throws Error for a phone that the engine lacks, which means that the language's table has a mistake
 */
export function toPhoneTokens(spelling: string, stress: Stress = "last"): SpeechToken[] {
  const phones = spelling.split(" ").filter((phone) => phone !== "");
  const strange = phones.find((phone) => !VOWELS.has(phone) && !CONSONANTS.has(phone));
  if (strange !== undefined) throw new Error(`the speech engine has no phone ${strange}`);
  const vowels = phones.flatMap((phone, index) => (VOWELS.has(phone) ? [index] : []));
  const stressed = vowels.at(stress === "penultimate" && vowels.length > 1 ? -2 : -1);
  const markedPhones = phones.map((phone, index) =>
    VOWELS.has(phone) ? `${phone}${index === stressed ? 1 : 0}` : phone,
  );
  const tokens: SpeechToken[] = [];
  for (let start = 0; start < markedPhones.length; start += MAX_PHONES) {
    tokens.push({ kind: "phones", phones: markedPhones.slice(start, start + MAX_PHONES) });
  }
  return tokens;
}

/** Estimates the number of syllables of a token; 0 for a pause. */
export function countSyllables(token: SpeechToken): number {
  switch (token.kind) {
    case "pause":
      return 0;
    case "phones":
      return Math.max(1, token.phones.filter((phone) => VOWELS.has(phone.slice(0, 2))).length);
    case "word": {
      const digits = token.text.replace(/\D/g, "").length;
      return Math.ceil((token.text.length - digits) / 4) + digits * 2;
    }
  }
}

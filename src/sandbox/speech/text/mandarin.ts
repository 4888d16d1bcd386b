/** Reads Han characters as Mandarin. Tones are left out because the engine cannot speak them. */
import { type SpeechToken, toPhoneTokens } from "./tokens.ts";

/** The phones of the initials that are not themselves names of a phone. */
const INITIALS: Readonly<Record<string, string>> = {
  h: "hh",
  j: "jh",
  q: "ch",
  x: "sh",
  zh: "jh",
  z: "d z",
  c: "t s",
};

/** The phones of finals. A final that is not here is a glide before one of these: `iang` is `i` and `ang`. */
const FINALS: Readonly<Record<string, string>> = {
  a: "aa",
  o: "ao",
  e: "ah",
  ê: "eh",
  ai: "ay",
  ei: "ey",
  ao: "aw",
  ou: "ow",
  an: "aa n",
  en: "ah n",
  ang: "aa ng",
  eng: "ah ng",
  ong: "ow ng",
  er: "aa r",
  i: "iy",
  ie: "y eh",
  iu: "y ow",
  ian: "y eh n",
  in: "iy n",
  ing: "iy ng",
  u: "uw",
  ui: "w ey",
  un: "w ah n",
  ü: "y uw",
  üe: "y eh",
  üan: "y eh n",
  ün: "y uw n",
};
const GLIDES: Readonly<Record<string, string>> = { i: "y", u: "w" };

function toFinalPhones(final: string): string | undefined {
  const [glide, rest] = [GLIDES[final.slice(0, 1)], FINALS[final.slice(1)]];
  return FINALS[final] ?? (glide === undefined || rest === undefined ? undefined : `${glide} ${rest}`);
}

/**
 * Maps an initial of pinyin to the vowel that is spoken for an i after this initial, as in `shi` or `zi`. Mandarin
 * speakers pronounce this i as a syllabic consonant. The vowel is an approximation.
 */
const SYLLABIC_I_VOWELS: Readonly<Record<string, string>> = {
  zh: "er",
  ch: "er",
  sh: "er",
  r: "er",
  z: "ih",
  c: "ih",
  s: "ih",
};

/** Returns the final of a pinyin syllable that has no initial. Replaces or removes the syllable's leading y or w. */
function getBareFinal(syllable: string): string {
  if (syllable.startsWith("yu")) return `ü${syllable.slice(2)}`;
  if (syllable.startsWith("yi")) return syllable.slice(1);
  if (syllable.startsWith("y")) return `i${syllable.slice(1)}`;
  if (syllable.startsWith("wu")) return syllable.slice(1);
  if (syllable.startsWith("w")) return `u${syllable.slice(1)}`;
  return syllable;
}

/** Returns the phones of one syllable of pinyin without tone, or "" for any other text. */
function toPinyinPhones(syllable: string): string {
  const [, initial = "", rest = ""] = /^(zh|ch|sh|[bpmfdtnlgkhjqxrzcs])?(.*)$/u.exec(syllable) ?? [];
  const written = rest.replaceAll("v", "ü");
  const final =
    initial === "" ? getBareFinal(written) : /[jqx]/.test(initial) ? written.replace(/^u/, "ü") : written;
  const vowel = final === "i" ? (SYLLABIC_I_VOWELS[initial] ?? "iy") : toFinalPhones(final);
  return vowel === undefined ? "" : `${INITIALS[initial] ?? initial} ${vowel}`.trim();
}

/** The phone of rare characters that have no known reading. */
const UNKNOWN_CHARACTER = "ah";

/** Converts Han characters to tokens. Each character is a token of its own, so that the pace of the speech is even. */
export async function readHan(text: string): Promise<SpeechToken[]> {
  const { pinyin } = await import("pinyin-pro");
  const syllables = pinyin(text, { toneType: "none", type: "array", v: true });
  return syllables.flatMap((syllable) => toPhoneTokens(toPinyinPhones(syllable) || UNKNOWN_CHARACTER));
}

const DIGIT_SYLLABLES = "ling yi er san si wu liu qi ba jiu".split(" ");

/** Reads a digit from 0 to 9 in Mandarin. */
export function readMandarinDigit(digit: number): SpeechToken[] {
  return toPhoneTokens(toPinyinPhones(DIGIT_SYLLABLES[digit] ?? ""));
}

/** Reads Han characters as Mandarin. Tones are left out because the engine cannot speak them. */
import { type SpeechToken, toPhoneTokens } from "./tokens.ts";

const INITIALS: Readonly<Record<string, string>> = {
  b: "b",
  p: "p",
  m: "m",
  f: "f",
  d: "d",
  t: "t",
  n: "n",
  l: "l",
  g: "g",
  k: "k",
  h: "hh",
  j: "jh",
  q: "ch",
  x: "sh",
  zh: "jh",
  ch: "ch",
  sh: "sh",
  r: "r",
  z: "d z",
  c: "t s",
  s: "s",
};

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
  ia: "y aa",
  ie: "y eh",
  io: "y ao",
  iao: "y aw",
  iu: "y ow",
  iou: "y ow",
  ian: "y eh n",
  in: "iy n",
  iang: "y aa ng",
  ing: "iy ng",
  iong: "y ow ng",
  u: "uw",
  ua: "w aa",
  uo: "w ao",
  uai: "w ay",
  ui: "w ey",
  uei: "w ey",
  uan: "w aa n",
  un: "w ah n",
  uen: "w ah n",
  uang: "w aa ng",
  ueng: "w ah ng",
  ü: "y uw",
  üe: "y eh",
  üan: "y eh n",
  ün: "y uw n",
};

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
  const vowel = final === "i" ? (SYLLABIC_I_VOWELS[initial] ?? FINALS["i"]) : FINALS[final];
  return vowel === undefined ? "" : `${INITIALS[initial] ?? ""} ${vowel}`.trim();
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

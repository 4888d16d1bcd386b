/** What a text will roughly come to, before it is sent: seconds by a fixed table a code point, and the charge that follows. */
import { chargeForSeconds } from "./billing.ts";

/** Thousandths of a second, so that sums are exact: a narration is cut where this table says, whatever the order of adding. */
const DIGIT_MS = 220;
const KANA_MS = 140;
const HAN_OR_HANGUL_MS = 230;
const CJK_PUNCTUATION_MS = 150;
const OTHER_MS = 66;

function classify(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  if (/\p{Nd}/u.test(character)) return DIGIT_MS;
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(character)) return KANA_MS;
  if (/[\p{Script=Han}\p{Script=Hangul}]/u.test(character)) return HAN_OR_HANGUL_MS;
  if (/[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/u.test(character)) {
    return CJK_PUNCTUATION_MS;
  }
  return OTHER_MS;
}

/** Books are long and alphabets short: a code point is classified once. 0: not yet. */
const known = new Uint8Array(0x10000);
/** The ideographic planes, also what later versions of Unicode will put there. */
const FIRST_IDEOGRAPHIC = 0x20000;
const LAST_IDEOGRAPHIC = 0x3ffff;

/** Milliseconds that one code point takes to speak, at the speed of 1: a whole number below 256. */
export function speechMs(codePoint: number): number {
  if (codePoint >= FIRST_IDEOGRAPHIC) {
    return codePoint <= LAST_IDEOGRAPHIC ? HAN_OR_HANGUL_MS : OTHER_MS;
  }
  if (codePoint >= known.length) return classify(codePoint);
  const seen = known[codePoint];
  if (seen !== undefined && seen !== 0) return seen;
  const milliseconds = classify(codePoint);
  known[codePoint] = milliseconds;
  return milliseconds;
}

/** Seconds that a text takes to speak, at the speed of 1: a guess, for no service publishes its pace. */
export function estimateSeconds(text: string): number {
  let milliseconds = 0;
  for (const character of text) milliseconds += speechMs(character.codePointAt(0) ?? 0);
  return milliseconds / 1000;
}

/** What a text would about be charged; the charge itself follows the length of the audio alone. */
export function estimateCredits(text: string, speed = 1): number {
  return chargeForSeconds(Math.max(estimateSeconds(text) / speed, 0.001));
}

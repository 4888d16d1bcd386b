/** What a text will roughly come to, before it is sent: seconds by a fixed table a code point, and the charge that follows. */
import { chargeForSeconds } from "./billing.ts";

const DIGIT_SECONDS = 0.22;
const KANA_SECONDS = 0.14;
const HAN_OR_HANGUL_SECONDS = 0.23;
const CJK_PUNCTUATION_SECONDS = 0.15;
const OTHER_SECONDS = 0.066;

function secondsOf(character: string): number {
  if (/\p{Nd}/u.test(character)) return DIGIT_SECONDS;
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(character)) return KANA_SECONDS;
  if (/[\p{Script=Han}\p{Script=Hangul}]/u.test(character)) return HAN_OR_HANGUL_SECONDS;
  if (/[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/u.test(character)) {
    return CJK_PUNCTUATION_SECONDS;
  }
  return OTHER_SECONDS;
}

/** Seconds that a text takes to speak, at the speed of 1: a guess, for no service publishes its pace. */
export function estimateSeconds(text: string): number {
  let seconds = 0;
  for (const character of text) seconds += secondsOf(character);
  return seconds;
}

/** What a text would about be charged; the charge itself follows the length of the audio alone. */
export function estimateCredits(text: string, speed = 1): number {
  return chargeForSeconds(Math.max(estimateSeconds(text) / speed, 0.001));
}

/** Estimates the speaking time and the charge of a text before it is sent, from fixed times per kind of character. */
import { chargeForSeconds } from "./billing.ts";

// The time that it takes to speak a character of each kind. The times are whole milliseconds, because rounding errors in
// their sums could change how a text is divided.
const DIGIT_MS = 220;
const KANA_MS = 140;
const HAN_OR_HANGUL_MS = 230;
const CJK_PUNCTUATION_MS = 150;
const OTHER_MS = 66;

function computeSpeechMs(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  if (/\p{Nd}/u.test(character)) return DIGIT_MS;
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(character)) return KANA_MS;
  if (/[\p{Script=Han}\p{Script=Hangul}]/u.test(character)) return HAN_OR_HANGUL_MS;
  if (/[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/u.test(character)) {
    return CJK_PUNCTUATION_MS;
  }
  return OTHER_MS;
}

/** Cache of the milliseconds of each code point; 0 means not computed yet. */
const speakingMsCache = new Uint8Array(0x10000);
/**
 * Bounds of the ideographic planes. Code points of these planes that Unicode has not assigned yet also count as
 * ideographs.
 */
const FIRST_IDEOGRAPHIC = 0x20000;
const LAST_IDEOGRAPHIC = 0x3ffff;

/** Returns the milliseconds that it takes to speak one code point at speed 1: a whole number below 256. */
function getSpeechMs(codePoint: number): number {
  if (codePoint >= FIRST_IDEOGRAPHIC) {
    return codePoint <= LAST_IDEOGRAPHIC ? HAN_OR_HANGUL_MS : OTHER_MS;
  }
  if (codePoint >= speakingMsCache.length) return computeSpeechMs(codePoint);
  const cachedMs = speakingMsCache[codePoint];
  if (cachedMs !== undefined && cachedMs !== 0) return cachedMs;
  const milliseconds = computeSpeechMs(codePoint);
  speakingMsCache[codePoint] = milliseconds;
  return milliseconds;
}

/**
 * Matches a sequence of ordinary characters, each of which takes {@link OTHER_MS}. Matching a whole sequence is faster
 * than looking up each character.
 */
const ORDINARY_CHARACTERS = /[\t\n -/:-\u02ff\u2010-\u2027]+/y;

/**
 * The highest code point at which {@link ORDINARY_CHARACTERS} is tried. Trying the pattern at every character would be
 * slow.
 */
const LAST_LATIN = 0x2ff;

/** Speaking time and length of a text. Both are limited in each task. */
export interface SpokenSize {
  /** Speaking time in milliseconds at speed 1. It is a whole number, so that sums are exact. */
  readonly speechMs: number;
  readonly codePoints: number;
}

/** Estimates the speaking time of a text and counts its code points. */
export function measureSpokenSize(text: string): SpokenSize {
  let milliseconds = 0;
  let codePoints = 0;
  for (let index = 0; index < text.length; ) {
    const codePoint = text.codePointAt(index) ?? 0;
    const takesMs = getSpeechMs(codePoint);
    ORDINARY_CHARACTERS.lastIndex = index;
    if (takesMs === OTHER_MS && codePoint <= LAST_LATIN && ORDINARY_CHARACTERS.test(text)) {
      const units = ORDINARY_CHARACTERS.lastIndex - index;
      milliseconds += units * OTHER_MS;
      codePoints += units;
      index += units;
      continue;
    }
    milliseconds += takesMs;
    codePoints += 1;
    index += codePoint > 0xffff ? 2 : 1;
  }
  return { speechMs: milliseconds, codePoints };
}

/** Estimates the seconds that it takes to speak a text at speed 1. The service does not publish its speaking rate. */
export function estimateSeconds(text: string): number {
  return measureSpokenSize(text).speechMs / 1000;
}

/** Estimates the charge of a text. The real charge depends only on the duration of the audio. */
export function estimateCredits(text: string, speed = 1): number {
  return chargeForSeconds(Math.max(estimateSeconds(text) / speed, 0.001));
}

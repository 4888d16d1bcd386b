/** Measures text in Unicode code points, as the contract does, and finds invisible characters. */

/**
 * Matches control characters, and characters that hide text or change its direction. Does not match the zero-width
 * joiner and non-joiner, because scripts and emoji need them.
 */
export const INVISIBLE_CHARACTERS = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv;

/** Counts Unicode code points, as the contract does. An emoji outside the basic plane counts once. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Returns the first `limit` code points of a text. Never cuts a surrogate pair. */
export function takeFirstCodePoints(text: string, limit: number): string {
  let takenText = "";
  let count = 0;
  for (const character of text) {
    if (count === limit) break;
    takenText += character;
    count += 1;
  }
  return takenText;
}

/** Returns the first `limit` code points of a text, with an ellipsis if it has more. */
export function shortenText(text: string, limit: number): string {
  const start = takeFirstCodePoints(text, limit);
  return start === text ? text : `${start}…`;
}

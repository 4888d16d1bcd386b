/** Measures text as the contract does, in Unicode code points, and finds the invisible ones. */

/** Controls, also those above ASCII, and whatever turns or hides text; the joiners that scripts and emoji need stay. */
export const UNSEEN = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv;

/** Length in Unicode code points: an emoji outside the basic plane counts once, as the contract counts it. */
export function codePointLength(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** The first `limit` code points of a text, never half of a surrogate pair. */
export function firstCodePoints(text: string, limit: number): string {
  let taken = "";
  let count = 0;
  for (const character of text) {
    if (count === limit) break;
    taken += character;
    count += 1;
  }
  return taken;
}

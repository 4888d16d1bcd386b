/** Divides text that is too long for one part into clauses, words, graphemes, and finally code points. */
import { CLOSERS } from "../characters.ts";

/** Matches the end of a clause. After Latin marks there must be white space, because `1,000` and `10:30` are words. */
const CLAUSE_END = new RegExp(
  `(?:[,;:][${CLOSERS}]*(?=\\s)|[，、；：][${CLOSERS}]*|(?<![—–])[—–]+(?=\\s)|\\s[—–](?=\\S)|—+)\\s*`,
  "g",
);

const startsAfter =
  (pattern: RegExp) =>
  (text: string): number[] =>
    [...text.matchAll(pattern)]
      .map((match) => match.index + match[0].length)
      .filter((start) => start < text.length);

/** Finds where the clauses of a sentence begin, except the first. */
export const findClauseStarts = startsAfter(CLAUSE_END);

/** Finds where the words of a clause begin, except the first. Text of a script without spaces counts as one word. */
export const findWordStarts = startsAfter(/\s+/g);

/**
 * Matches code points that belong to the character before them: marks, joiners, variation selectors, skin tones, tags,
 * jamo.
 */
const EXTENDS_GRAPHEME =
  /^(?:\p{M}|\p{Variation_Selector}|\p{Emoji_Modifier}|[\u200c\u{e0020}-\u{e007f}\u1160-\u11ff\ud7b0-\ud7fb\uff9e\uff9f])$/u;
const ZERO_WIDTH_JOINER = "\u200d";
const isFlagLetter = (character: string): boolean => /^[\u{1f1e6}-\u{1f1ff}]$/u.test(character);

/** Finds where visible characters begin, except the first. */
export function findGraphemeStarts(text: string): number[] {
  const starts: number[] = [];
  let index = 0;
  let previous = "";
  let flagLetters = 0;
  for (const character of text) {
    const isFlag = isFlagLetter(character);
    const isGlued =
      previous === ZERO_WIDTH_JOINER ||
      (isFlag && flagLetters % 2 === 1) ||
      character === ZERO_WIDTH_JOINER ||
      EXTENDS_GRAPHEME.test(character);
    if (index > 0 && !isGlued) starts.push(index);
    flagLetters = isFlag ? flagLetters + 1 : 0;
    previous = character;
    index += character.length;
  }
  return starts;
}

/** Finds where groups of `max` code points begin, except the first. */
export function findCodePointStarts(text: string, max: number): number[] {
  const starts: number[] = [];
  let index = 0;
  let count = 0;
  for (const character of text) {
    if (count > 0 && count % max === 0) starts.push(index);
    index += character.length;
    count += 1;
  }
  return starts;
}

/** Converts spelling to phones by rules. The first rule that matches applies, so specific rules come first. */

/** A regular expression for the current position, and the phones of the text it matches ("" if silent). */
export type SpellingRule = readonly [pattern: string, phones: string];

/** The consonants whose letter is also the name of their phone. More specific rules come before these. */
export const PLAIN_CONSONANTS: readonly SpellingRule[] = [..."bdfgklmnprstvwyz"].map((letter) => [
  letter,
  letter,
]);

/** Builds a function that converts a word to phones. Letters that no rule matches are silent. */
export function createSpellingReader(rules: readonly SpellingRule[]): (word: string) => string {
  const compiled = rules.map(([pattern, phones]) => ({ pattern: new RegExp(pattern, "yu"), phones }));
  return (word) => {
    const spoken: string[] = [];
    let position = 0;
    while (position < word.length) {
      let matched = 1;
      for (const { pattern, phones } of compiled) {
        pattern.lastIndex = position;
        const [text] = pattern.exec(word) ?? [];
        if (text === undefined || text === "") continue;
        spoken.push(phones);
        matched = text.length;
        break;
      }
      position += matched;
    }
    return spoken.filter((phones) => phones !== "").join(" ");
  };
}

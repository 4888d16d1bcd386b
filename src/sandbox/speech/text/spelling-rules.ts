/** Reads a word by rules, the longest or most particular first. */

/** The source of a regular expression for the current position, and its phones ("" for silent). */
export type SpellingRule = readonly [pattern: string, phones: string];

/** Builds a reader of words; what no rule matches is silent. */
export function spellingReader(rules: readonly SpellingRule[]): (word: string) => string {
  const compiled = rules.map(([pattern, phones]) => ({ pattern: new RegExp(pattern, "yu"), phones }));
  return (word) => {
    const spoken: string[] = [];
    let place = 0;
    while (place < word.length) {
      let matched = 1;
      for (const { pattern, phones } of compiled) {
        pattern.lastIndex = place;
        const [text] = pattern.exec(word) ?? [];
        if (text === undefined || text === "") continue;
        spoken.push(phones);
        matched = text.length;
        break;
      }
      place += matched;
    }
    return spoken.filter((phones) => phones !== "").join(" ");
  };
}

/** Reads a word by rules, the longest or most specific first. */

/** A regular expression to match at the current position, and its phones ("" for silent). */
export type SpellingRule = readonly [pattern: string, phones: string];

/** Builds a reader of words; letters that no rule matches are silent. */
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

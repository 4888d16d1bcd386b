/** Searches texts for the words of a query, within bounds. */

/** Folds case, accents and the kinds of apostrophes. */
const foldForm = (text: string): string =>
  text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .replaceAll(/[‘’`´]/g, "'")
    .toLowerCase();

/** Splits a query into words without the punctuation around them. Keeps a word that is only punctuation. */
const splitWords = (query: string): string[] =>
  foldForm(query)
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/^\p{P}+|\p{P}+$/gu, "") || word);

/** Words of a request for a search, which the text that is meant need not have. */
const FILLER_WORDS: ReadonlySet<string> = new Set(
  "a about all an and any at audio by file files find for from i in is it made me my of on one or recording speaker speaking speaks spoken task tasks that the this to voice voices was what where which with".split(
    " ",
  ),
);
const MIN_LETTERS = 3;

const isDistinctive = (word: string): boolean => word.length >= MIN_LETTERS || /[^\p{ASCII}]/u.test(word);

/** Whether texts are what a query means. */
export type Search = (texts: readonly string[]) => boolean;

/**
 * Returns the searches for a query, the strictest first: texts that have every word, in any order and also inside longer
 * words; every word but fillers; any such word.
 */
export function createSearches(query: string): readonly [Search, Search, Search] {
  const words = splitWords(query);
  const telling = words.filter((word) => !FILLER_WORDS.has(word));
  const distinctive = telling.filter(isDistinctive);
  const search =
    (judge: (contains: (word: string) => boolean) => boolean): Search =>
    (texts) => {
      const searchedText = foldForm(texts.join("\n"));
      // A short word, such as the code of a language, is not found inside others.
      return judge((word) =>
        isDistinctive(word)
          ? searchedText.includes(word)
          : searchedText.split(/[^\p{L}\p{N}]+/u).includes(word),
      );
    };
  return [
    search((contains) => words.every(contains)),
    search((contains) => telling.length > 0 && telling.every(contains)),
    search((contains) => distinctive.some(contains)),
  ];
}

export const MAX_NARRATIONS_SEARCHED = 500;

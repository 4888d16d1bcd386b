/** Searches texts for the words of a query. */

const foldCase = (text: string): string => text.normalize("NFKC").toLowerCase();

/** Splits a query into words without the punctuation around them. Keeps a word that is only punctuation. */
const splitWords = (query: string): string[] =>
  foldCase(query)
    .split(/\s+/)
    .map((word) => word.replace(/^\p{P}+|\p{P}+$/gu, "") || word);

/** Returns whether the texts contain every word of a query, in any order and also inside longer words. */
export function containsWords(texts: readonly string[], query: string): boolean {
  const searchedText = foldCase(texts.join("\n"));
  return splitWords(query).every((word) => searchedText.includes(word));
}

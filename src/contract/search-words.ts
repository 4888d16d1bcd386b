/** Finds texts by words. */

const folded = (text: string): string => text.normalize("NFKC").toLowerCase();

/** Splits a query into words without punctuation around them; a word of punctuation alone is kept. */
const wordsOf = (query: string): string[] =>
  folded(query)
    .split(/\s+/)
    .map((word) => word.replace(/^\p{P}+|\p{P}+$/gu, "") || word);

/** Whether the texts contain every word of a query, in any order, also inside longer words. */
export function holdsWords(texts: readonly string[], query: string): boolean {
  const all = folded(texts.join("\n"));
  return wordsOf(query).every((word) => all.includes(word));
}

/** Finds texts by words. */

const folded = (text: string): string => text.normalize("NFKC").toLowerCase();

/** Words of a query without the marks around them, such as quotation marks and commas; a sign alone stays. */
const wordsOf = (query: string): string[] =>
  folded(query)
    .split(/\s+/)
    .map((word) => word.replace(/^\p{P}+|\p{P}+$/gu, "") || word);

/** Whether every word of a query stands somewhere in the texts, in any order, also as a part of a longer word. */
export function holdsWords(texts: readonly string[], query: string): boolean {
  const all = folded(texts.join("\n"));
  return wordsOf(query).every((word) => all.includes(word));
}

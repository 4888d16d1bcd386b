/** Finds texts by words. */

const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

/** Whether every word of a query stands somewhere in the texts, in any order, also as a part of a longer word. */
export function holdsWords(texts: readonly string[], query: string): boolean {
  const all = texts.join("\n").normalize("NFKC").toLowerCase();
  return wordsOf(query).every((word) => all.includes(word));
}

/**
 * Joins words that are divided at the ends of lines. Evidence: form and sequence. The same word elsewhere in the text
 * shows whether it is written with a hyphen.
 */

/**
 * Matches the two halves of a divided word. If the line below the hyphen begins with a word such as "and", the pattern
 * does not match, because the hyphen belongs to a series ("pre- and postwar").
 */
const DIVIDED_WORD =
  /(?<!\p{L})(\p{L}{2,30})([-\u2010\u00ad])[^\S\n]*\r?\n[^\S\n]*(?!(?:and|or|to|und|oder|bis|y|e|o|u|ou|dan|atau)\b)(\p{Ll}{2,30})/gu;
const WORD = /\p{L}+(?:[-\u2010]\p{L}+)*/gu;

const toPlainWord = (word: string): string => word.replace("\u2010", "-").toLowerCase();

/**
 * Joins divided words. If the word occurs elsewhere without a hyphen, the hyphen is removed. If the word occurs
 * elsewhere only with a hyphen, the hyphen is kept. If the word does not occur elsewhere, only an ASCII hyphen is kept.
 */
export function joinDividedWords(text: string): string {
  if (!/[-\u2010\u00ad][^\S\n]*\r?\n/.test(text)) return text;
  const wantedWords = new Set<string>();
  for (const [, head = "", , tail = ""] of text.matchAll(DIVIDED_WORD)) {
    wantedWords.add(`${head}${tail}`.toLowerCase()).add(`${head}-${tail}`.toLowerCase());
  }
  if (wantedWords.size === 0) return text;
  const plainWords = new Set<string>();
  for (const [word] of text.matchAll(WORD)) {
    const form = toPlainWord(word);
    if (wantedWords.has(form)) plainWords.add(form);
  }
  return text.replace(DIVIDED_WORD, (_, head: string, mark: string, tail: string) => {
    const isWhole = plainWords.has(`${head}${tail}`.toLowerCase());
    const isHyphenated = plainWords.has(`${head}-${tail}`.toLowerCase());
    const keepsHyphen = isHyphenated ? !isWhole : mark === "-" && !isWhole;
    return `${head}${keepsHyphen ? "-" : ""}${tail}`;
  });
}

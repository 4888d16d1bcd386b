/**
 * Decides whether an indented block, which Markdown defines as code, is text. Evidence: form, and in doubtful cases
 * also share. Code is not spoken.
 *
 * - A block that begins like a sentence and has no sign of code is text.
 * - A block with a sign that only code has is code.
 * - Any other block is text if nearly all of it is words, and if it begins like a sentence, begins with a list mark, or
 *   contains a word with punctuation.
 */
import { OPENERS } from "../characters.ts";

/** The beginning of a sentence, in any script. */
const BEGINS_SENTENCE = new RegExp(`^[\\s${OPENERS}]*[\\p{Lu}\\p{Lo}]`, "u");
/** The mark of a list item, such as `a)`, `(iv)`, `1.` and `•`. */
const BEGINS_CLAUSE = /^\s*(?:\(?(?:\p{L}|[ivx]{1,5}|\d{1,3})[.)]|[•·–—*-])\s+\S/u;
const LIKE_CODE = /[{}<>=|\\$#`@]|\w_\w|\w\(|\);|^\s*[-/]{1,2}\w/m;
/** Signs that only code has. Other signs of code, such as `<` and `@`, also occur in text. */
const CERTAINLY_CODE = /[{}\\]|=>|==|\);|\w_\w|\$\w|^\s*[-/]{1,2}\w|^\s*[#$>%] /m;

const WORD =
  /^["'`“”‘’«»<([¡¿]*(?:\p{L}[\p{L}\p{M}\p{N}'’.-]*|\p{N}[\p{N}.,:%-]*|[–—&/-]+)["'`“”‘’«»>)\]]*[.,;:!?…]*["'“”‘’«»>)\]]*$/u;
const WORDS_SHARE = 0.9;
const MIN_WORDS = 6;
const WORD_WITH_PUNCTUATION = /\p{L}{2}[,.;:](?:\s|$)/u;

/**
 * Whether an indented block is text and not code.
 *
 * @param block without its indentation
 */
export function isTextNotCode(block: string): boolean {
  if (BEGINS_SENTENCE.test(block) && !LIKE_CODE.test(block)) return true;
  if (CERTAINLY_CODE.test(block)) return false;
  const isClause = BEGINS_CLAUSE.test(block);
  if (!isClause && !BEGINS_SENTENCE.test(block) && !WORD_WITH_PUNCTUATION.test(block)) return false;
  const tokens = block.split(/\s+/).filter((token) => token !== "");
  const words = tokens.filter((token) => WORD.test(token)).length;
  return (
    words >= (isClause ? MIN_WORDS / 2 : MIN_WORDS) &&
    words >= WORDS_SHARE * (tokens.length - (isClause ? 1 : 0))
  );
}

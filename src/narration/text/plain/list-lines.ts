/** Finds lists in plain text. Evidence: form (list marks) and sequence (their numbers). */

export const LIST_MARKER = /^(?:[-*+•·‣▪–]|\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]|\(?[a-z][.)]|[☐☑✓])\s+\S/u;

/**
 * List marks that count only if several lines have them: `o`, which is also a Portuguese word; a number without a mark;
 * a name before a dash (`NAME - description`).
 */
const RARE_MARKS = [/^o\s+\S/, /^\d{1,3}(?:\.\d{1,3}){0,3}\s+\p{Lu}/u, /^\S{1,30}\s+[-–—]\s+\S/];

const MIN_RARE_MARKS = 3;
const MIN_LIST_MARKS = 2;

/**
 * Whether numbers can be the numbers of a list. The list may contain other lists, as in 1, 2, 1, 2, 3. True if all
 * numbers rise, or if each number either begins a list or is the next number of a list that has begun before.
 */
function isNumbered(numbers: readonly number[]): boolean {
  if (numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0))) return true;
  const openNumbers: number[] = [];
  return numbers.every((number, index) => {
    while (openNumbers.length > 0 && number !== 1 && openNumbers.at(-1) !== number - 1) openNumbers.pop();
    if (openNumbers.length === 0 && number !== 1 && index > 0) return false;
    if (number !== 1) openNumbers.pop();
    openNumbers.push(number);
    return true;
  });
}

/** Joins the lines of each list item; `null` if the lines are not a list. */
export function joinListItems(lines: readonly string[]): string[] | null {
  const count = (form: RegExp): number => lines.filter((line) => form.test(line)).length;
  const mark =
    count(LIST_MARKER) >= MIN_LIST_MARKS
      ? LIST_MARKER
      : RARE_MARKS.find(
          (form) => form.test(lines[0] ?? "") && count(form) >= Math.max(MIN_RARE_MARKS, lines.length / 2),
        );
  if (mark === undefined) return null;
  const numbers = lines.flatMap((line) => /^\(?(\d{1,3})[.)]\s/.exec(line)?.[1] ?? []).map(Number);
  if (!isNumbered(numbers)) return null;
  const items: string[] = [];
  for (const line of lines) {
    if (items.length === 0 || mark.test(line)) items.push(line);
    else items.push(`${items.pop()}\n${line}`);
  }
  return items;
}

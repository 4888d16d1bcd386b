/**
 * Numbers the chapters of a plan. Lists of chapters show these numbers, and callers choose chapters by them. Evidence:
 * sequence. If headings state the numbers 1, 2, 3 and so on, chapter 3 is the heading that states 3, even if a title
 * page or a preface comes before chapter 1.
 */
import { LEVEL, parseChapterForm } from "./chapter-forms.ts";

type Chapters = ReadonlyArray<{ readonly title: string | null }>;

/** Minimum number of numbered headings. Fewer headings may be numbered by chance. */
const MIN_COUNTED_HEADINGS = 3;
/**
 * Minimum share of headings that are numbered. With a smaller share, the book probably has several stories, and the
 * numbers count the chapters within one of them.
 */
const COUNTED_SHARE = 0.5;
/**
 * Levels of numbered headings, in the order in which they are tried. Numbers beside a word for chapters come first,
 * because they most likely count chapters. Bare numbers come next. Numbers beside a word such as `Book` come last,
 * because they count sections that contain chapters.
 */
const LEVEL_PREFERENCE = [LEVEL.chapter, LEVEL.bare, LEVEL.part];

/**
 * Returns the position of a chapter among the headings: 1 for the first heading. Returns 0 for the text before the
 * first heading.
 */
export const chapterPosition = (chapters: Chapters, index: number): number =>
  chapters[0]?.title === null ? index : index + 1;

/** Finds the numbers that headings of one level state, if these are 1, 2, 3 and so on in reading order. */
function findStatedNumbers(chapters: Chapters): ReadonlyMap<number, number> | null {
  const forms = chapters.map(({ title }) => (title === null ? null : parseChapterForm(title)));
  const titled = chapters.filter(({ title }) => title !== null).length;
  for (const level of LEVEL_PREFERENCE) {
    const numbers = forms.flatMap((form, index) =>
      form?.level === level ? [[index, form.sortNumber] as const] : [],
    );
    if (numbers.length < MIN_COUNTED_HEADINGS || numbers.length < COUNTED_SHARE * titled) continue;
    return numbers.every(([, value], position) => value === position + 1) ? new Map(numbers) : null;
  }
  return null;
}

/**
 * Numbers all chapters. The text before the first heading gets 0. If the headings of one level state 1, 2, 3 and so on,
 * each of them gets the number that it states, and all other headings get `null`. If no level has such headings, each
 * heading gets its position among all headings.
 *
 * @returns one number or `null` for each chapter
 */
export function numberChapters(chapters: Chapters): ReadonlyArray<number | null> {
  const numbers = findStatedNumbers(chapters);
  return chapters.map(({ title }, index) => {
    if (title === null || numbers === null) return chapterPosition(chapters, index);
    return numbers.get(index) ?? null;
  });
}

/**
 * Numbers the chapters of a plan, for lists and callers. Evidence: sequence. If headings count from 1, as in a novel
 * with a title page and a preface, chapter 3 is the heading with the number 3.
 */
import { formOf, LEVEL } from "./chapter-forms.ts";

type Sections = ReadonlyArray<{ readonly title: string | null }>;

/** Fewer headings may be numbered by chance. */
const MIN_COUNTED_HEADINGS = 3;
/** Minimum share of numbered headings. With fewer, the numbers count the sections of one of several stories. */
const COUNTED_SHARE = 0.5;
/**
 * Levels of numbered headings, the likeliest chapters first: numbers beside a word for chapters, bare numbers,
 * numbers beside a word for parts.
 */
const LEVEL_PREFERENCE = [LEVEL.chapter, LEVEL.bare, LEVEL.part];

/** Returns 0 for the text before the first heading, 1 for the first heading, and so on. */
export const chapterPosition = (sections: Sections, index: number): number =>
  sections[0]?.title === null ? index : index + 1;

/** Finds the numbers that headings of one level state, if these are 1, 2, 3 and so on in reading order. */
function statedNumbers(sections: Sections): ReadonlyMap<number, number> | null {
  const forms = sections.map(({ title }) => (title === null ? null : formOf(title)));
  const titled = sections.filter(({ title }) => title !== null).length;
  for (const level of LEVEL_PREFERENCE) {
    const stated = forms.flatMap((form, index) =>
      form?.level === level ? [[index, form.value] as const] : [],
    );
    if (stated.length < MIN_COUNTED_HEADINGS || stated.length < COUNTED_SHARE * titled) continue;
    return stated.every(([, value], at) => value === at + 1) ? new Map(stated) : null;
  }
  return null;
}

/**
 * Numbers all sections.
 *
 * @returns for each section the number that its heading states, if the headings of the text count from 1, and `null` for
 * all other headings; otherwise its position among the headings. 0 for the text before the first heading.
 */
export function chapterNumbers(sections: Sections): ReadonlyArray<number | null> {
  const stated = statedNumbers(sections);
  return sections.map(({ title }, index) => {
    if (title === null || stated === null) return chapterPosition(sections, index);
    return stated.get(index) ?? null;
  });
}

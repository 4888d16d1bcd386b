/** Estimates the length and the remaining cost of each chapter of a plan. */
import { numberChapters } from "../text/chapters/chapter-number.ts";

/** Length and likely charge of a part. The charge is 0 for a part that is paid, and for all but the first of equal parts. */
export interface PartEstimate {
  readonly seconds: number;
  readonly credits: number;
}

export interface ChapterEstimate {
  /**
   * The chapter number from {@link numberChapters}; `null` if the heading has no number, but other headings have
   * numbers.
   */
  readonly number: number | null;
  /** `null` for the text before the first heading. */
  readonly title: string | null;
  readonly seconds: number;
  /** The credits that the chapter's parts will still cost. Parts that are already paid add nothing. */
  readonly credits: number;
}

/** Estimates the chapters that have parts. Returns an empty list if the text has fewer than two chapters. */
export function estimateChapters(
  chapters: ReadonlyArray<{ readonly title: string | null }>,
  parts: ReadonlyArray<{ readonly chapterIndex: number }>,
  estimates: readonly PartEstimate[],
): ChapterEstimate[] {
  if (chapters.length < 2) return [];
  const numbers = numberChapters(chapters);
  const sums = chapters.map(({ title }, index) => ({
    number: numbers[index] ?? null,
    title,
    seconds: 0,
    credits: 0,
  }));
  for (const [index, { chapterIndex }] of parts.entries()) {
    const sum = sums[chapterIndex];
    if (sum === undefined) continue;
    const { seconds = 0, credits = 0 } = estimates[index] ?? {};
    sum.seconds += seconds;
    sum.credits += credits;
  }
  // Leave out the chapters that were not chosen. They have no parts.
  return sums.filter(({ seconds }) => seconds > 0);
}

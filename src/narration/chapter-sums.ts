/** Computes length and price of each chapter of a plan. */
import type { StoredPlan } from "./narration-state.ts";
import { chapterNumbers } from "./plan/chapter-number.ts";

export interface ChapterSum {
  /** As `chapterNumbers` counts; `null` for a heading that is not numbered in a text of numbered chapters. */
  readonly number: number | null;
  /** `null` for the text before the first heading. */
  readonly title: string | null;
  readonly seconds: number;
  readonly credits: number;
}

type Planned = Pick<StoredPlan["parts"][number], "section" | "estimatedSeconds" | "estimatedCredits">;

/** Returns nothing if the text has fewer than two chapters. */
export function chapterSums(
  sections: ReadonlyArray<{ readonly title: string | null }>,
  parts: readonly Planned[],
): ChapterSum[] {
  if (sections.length < 2) return [];
  const numbers = chapterNumbers(sections);
  const sums = sections.map(({ title }, index) => ({
    number: numbers[index] ?? null,
    title,
    seconds: 0,
    credits: 0,
  }));
  for (const { section, estimatedSeconds, estimatedCredits } of parts) {
    const sum = sums[section];
    if (sum === undefined) continue;
    sum.seconds += estimatedSeconds;
    sum.credits += estimatedCredits;
  }
  // Chapters that were not chosen have no parts.
  return sums.filter(({ seconds }) => seconds > 0);
}

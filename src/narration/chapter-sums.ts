/** Computes length and price of each chapter of a plan. */
import type { StoredPlan } from "./narration-state.ts";
import { chapterNumber } from "./plan/chapter-number.ts";

export interface ChapterSum {
  /** 1 for the first heading; 0 for the text before it. */
  readonly number: number;
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
  const sums = sections.map(({ title }, index) => ({
    number: chapterNumber(sections, index),
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

/** Lists the files of a plan: one for the whole narration, one for each chapter, or one for each row of a sheet. */
import type { StoredPlan } from "./planning/stored-plan.ts";

export interface PlannedFile {
  /** Index of the file's chapter; `null` for a file of the whole narration. */
  readonly chapterIndex: number | null;
  /** Indexes of the file's parts in the plan, in reading order. */
  readonly partIndexes: readonly number[];
}

/** Lists the files of a plan, in reading order. */
export function listPlannedFiles(plan: StoredPlan): PlannedFile[] {
  const partIndexes = plan.parts.map((_, index) => index);
  // Treat a single chapter as the whole narration, so that its title is not repeated.
  const isOne = plan.fileLayout === "one" || (plan.fileLayout === "chapters" && plan.chapters.length === 1);
  if (isOne) return [{ chapterIndex: null, partIndexes }];
  const byChapter = Map.groupBy(partIndexes, (index) => plan.parts[index]?.chapterIndex);
  return plan.chapters.flatMap((_, chapterIndex) => {
    const ofChapter = byChapter.get(chapterIndex);
    return ofChapter === undefined ? [] : [{ chapterIndex, partIndexes: ofChapter }];
  });
}

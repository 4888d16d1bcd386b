/** Finds the chapters of a stored plan that a caller names. */
import { AudioError } from "../../errors.ts";
import { describeChapter, parseChapterChoice } from "../text/chapters/chosen-chapters.ts";
import type { PlannedChapter } from "../text/plan-types.ts";
import type { StoredPlan } from "./stored-plan.ts";

/**
 * Returns the chapters of the whole text, and the indexes of those that are named.
 *
 * @param wanted the chapters, in the syntax of `parseChapterChoice`
 * @throws AudioError `invalid_request` for a sheet, and for a chapter that does not exist or is not planned
 */
export function findPlannedChapters(plan: StoredPlan, wanted: string) {
  if (plan.fileLayout === "rows") {
    throw new AudioError("invalid_request", "A sheet has rows and no chapters. Nothing was sent.");
  }
  const chapters = plan.chapters.map(({ title, level = null }) => ({ title, level }));
  const chosenIndexes = parseChapterChoice(chapters, wanted);
  assertPlanned(plan, chapters, chosenIndexes);
  return { chapters, chosenIndexes };
}

/**
 * Checks that the plan contains the wanted chapters. A plan that was made for chosen chapters lacks the others.
 *
 * @throws AudioError `invalid_request` for a chapter that the plan does not contain
 */
function assertPlanned(
  plan: StoredPlan,
  chapters: readonly PlannedChapter[],
  chosen: readonly number[],
): void {
  if (plan.wholeTitle === undefined) return;
  const planned = new Set(plan.parts.map(({ chapterIndex }) => chapterIndex));
  const missingChapterIndex = chosen.find((chapterIndex) => !planned.has(chapterIndex));
  if (missingChapterIndex === undefined) return;
  throw new AudioError(
    "invalid_request",
    `This narration holds only some chapters of its text, and not ${describeChapter(chapters, missingChapterIndex)}. Nothing was sent.`,
    { remedy: "Give the text or file again, with chapters." },
  );
}

/** Chooses chapters of a narration that is already planned, so that its text need not be sent again. */
import { AudioError } from "../../errors.ts";
import {
  describeChapter,
  listPartsOfChapters,
  parseChapterChoice,
} from "../text/chapters/chosen-chapters.ts";
import type { PlannedChapter } from "../text/plan-types.ts";
import { buildShortPartsRemarks } from "./build-stored-plan.ts";
import { buildChosenRemarks, buildChosenTitle, buildInheritedRemarks } from "./plan-remarks.ts";
import type { StoredPlan } from "./stored-plan.ts";
import { toRemarkOnWholeText } from "./unspoken-remarks.ts";

/**
 * Returns the plan of the chosen chapters. Planning the same text with the same `chapters` gives an equal plan.
 *
 * @param wanted the chapters, in the syntax of `parseChapterChoice`
 * @throws AudioError `invalid_request` for a sheet, a chapter that does not exist, or chapters with nothing to speak
 */
export function keepChosenChapters(plan: StoredPlan, wanted: string): StoredPlan {
  if (plan.fileLayout === "rows") {
    throw new AudioError("invalid_request", "A sheet has rows and no chapters. Nothing was sent.");
  }
  const chapters = plan.chapters.map(({ title, level = null }) => ({ title, level }));
  const chosenIndexes = parseChapterChoice(chapters, wanted);
  assertPlanned(plan, chapters, chosenIndexes);
  if (chosenIndexes.length === chapters.length) return plan;
  const parts = listPartsOfChapters(plan.parts, chosenIndexes);
  const { wholeTitle: whole = plan.title } = plan;
  return {
    ...plan,
    title: buildChosenTitle(whole, { chapters, chosen: chosenIndexes }),
    wholeTitle: whole,
    parts,
    remarks: [
      ...buildChosenRemarks({ chapters, chosen: chosenIndexes }),
      ...buildInheritedRemarks(plan.remarks, { parts }),
      ...buildShortPartsRemarks({ parts }),
    ],
    unspoken: plan.unspoken.map(toRemarkOnWholeText),
  };
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

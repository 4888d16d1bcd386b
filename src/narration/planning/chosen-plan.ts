/** Chooses chapters of a narration that is already planned, so that its text need not be sent again. */
import { listPartsOfChapters } from "../text/chapters/chosen-chapters.ts";
import { buildChosenRemarks, buildChosenTitle, buildInheritedRemarks } from "./plan-remarks.ts";
import { findPlannedChapters } from "./planned-chapters.ts";
import type { StoredPlan } from "./stored-plan.ts";
import { toRemarkOnWholeText } from "./unspoken-remarks.ts";

/**
 * Returns the plan of the chosen chapters. Planning the same text with the same `chapters` gives an equal plan.
 *
 * @param wanted the chapters, in the syntax of `parseChapterChoice`
 * @throws AudioError as {@link findPlannedChapters} does; `invalid_request` for chapters with nothing to speak
 */
export function keepChosenChapters(plan: StoredPlan, wanted: string): StoredPlan {
  const { chapters, chosenIndexes } = findPlannedChapters(plan, wanted);
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
    ],
    unspoken: plan.unspoken.map(toRemarkOnWholeText),
  };
}

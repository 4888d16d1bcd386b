/** Finds the chapters of a stored plan that a caller names, and narrows the plan to them. */
import { AudioError } from "../../errors.ts";
import {
  describeChapter,
  listPartsOfChapters,
  parseChapterChoice,
} from "../text/chapters/chosen-chapters.ts";
import { buildChosenRemarks, buildChosenTitle, buildInheritedRemarks } from "./plan-remarks.ts";
import type { StoredPlan } from "./stored-plan.ts";
import { toRemarkOnWholeText } from "./unspoken-remarks.ts";

/**
 * Returns the chapters of the whole text, and the indexes of those that are named.
 *
 * @param wanted the chapters, in the syntax of `parseChapterChoice`
 * @throws AudioError `invalid_request` for a sheet, and for a chapter that does not exist or is not planned
 */
export function findPlannedChapters(plan: StoredPlan, wanted: string) {
  if (plan.fileLayout === "rows") {
    throw new AudioError(
      "invalid_request",
      "Rows of a sheet cannot be chosen by a narration. Nothing was sent.",
      {
        remedy:
          'For some rows: the sheet again as file, with chapters "1-2" (the first two) or their names. For another take of one row: its quote, as "row 5", by its number in the sheet.',
      },
    );
  }
  const chapters = plan.chapters.map(({ title, level = null }) => ({ title, level }));
  const chosenIndexes = parseChapterChoice(chapters, wanted);
  // A plan that was made for chosen chapters lacks the others.
  const planned = new Set(plan.parts.map(({ chapterIndex }) => chapterIndex));
  const missing = chosenIndexes.find((index) => plan.wholeTitle !== undefined && !planned.has(index));
  if (missing !== undefined) {
    throw new AudioError(
      "invalid_request",
      `This narration holds only some chapters of its text, and not ${describeChapter(chapters, missing)}. Nothing was sent.`,
      { remedy: "Give the text or file again, with chapters." },
    );
  }
  return { chapters, chosenIndexes };
}

/**
 * Returns the plan of the chosen chapters, so that the text need not be sent again. Planning the same text with the same `chapters` gives an equal plan.
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

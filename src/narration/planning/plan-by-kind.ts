/** Plans an input by its kind. The reader of each kind is loaded on first use. */
import { assertReadContent, type NarrationInput } from "../../files/input-format.ts";
import type { PlanOptions, PlanSource } from "./build-stored-plan.ts";
import type { StoredPlan } from "./stored-plan.ts";

/**
 * Plans an input, by the planner for its kind.
 *
 * @throws AudioError `invalid_request` if there is nothing to speak, or the content cannot be spoken
 */
export async function planByKind(input: NarrationInput, options: PlanOptions): Promise<StoredPlan> {
  if (input.format !== "epub") assertReadContent(input.text, "The text");
  if (input.format === "sheet") {
    const { planSheet } = await import("./sheet/plan-sheet.ts");
    return planSheet(input.text, options);
  }
  const { buildStoredPlan } = await import("./build-stored-plan.ts");
  return buildStoredPlan(await toPlanSource(input), options);
}

async function toPlanSource(input: Exclude<NarrationInput, { format: "sheet" }>): Promise<PlanSource> {
  if (input.format === "html") {
    const { findDeclaredArticle, parseHtml } = await import("../books/parse-html.ts");
    const article = await findDeclaredArticle(input.text);
    return { parse: (unspoken) => parseHtml(input.text, unspoken, article) };
  }
  if (input.format === "epub") {
    const { parseEpub } = await import("../books/parse-epub.ts");
    return { parse: (unspoken) => parseEpub(input.bytes, unspoken) };
  }
  return input;
}

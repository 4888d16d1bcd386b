/** Plans an input by its kind. The room that reads a kind is loaded with the first input of that kind. */
import type { InputText } from "../files/input-format.ts";
import type { PlanSettings } from "./make-plan.ts";
import type { StoredPlan } from "./narration-state.ts";

/** @throws AudioError `invalid_request` where there is nothing to speak, or what is there cannot be spoken */
export async function planInput({ text, format }: InputText, settings: PlanSettings): Promise<StoredPlan> {
  if (format === "sheet") {
    const { planSheet } = await import("./sheet/plan-sheet.ts");
    return planSheet(text, settings);
  }
  const { makePlan } = await import("./make-plan.ts");
  return makePlan({ text, format }, settings);
}

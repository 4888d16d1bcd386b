/** Builds the request for one part of a narration from the plan and the chosen retakes. */
import type { PartRequest, SavedPart } from "../../requests/use-cases/generate-part.ts";
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { buildPartInput } from "./part-input.ts";

/** A saved part with its position in the plan. */
export interface IndexedPart extends SavedPart {
  /** Index of the part in the plan. */
  readonly partIndex: number;
}

/** Returns the take that was chosen for a part; 1 if no take was chosen. */
export function findChosenTake({ retakes }: Pick<NarrationState, "retakes">, partIndex: number): number {
  return retakes.find((retake) => retake.partIndex === partIndex)?.take ?? 1;
}

/** Returns the speed that was chosen for a part; `undefined` if the part has the plan's speed. */
export function findChosenSpeed(
  { retakes }: Pick<NarrationState, "retakes">,
  partIndex: number,
): number | undefined {
  return retakes.find((retake) => retake.partIndex === partIndex)?.speed;
}

/**
 * Builds the request for one part: its text, settings and chosen take.
 *
 * @param partIndex index of the part in the plan
 */
export function buildPartRequest(
  plan: StoredPlan,
  state: Pick<NarrationState, "retakes">,
  partIndex: number,
): PartRequest {
  const planned = plan.parts[partIndex];
  if (planned === undefined)
    throw new RangeError(`a plan of ${plan.parts.length} parts has no part ${partIndex}`);
  const written = planned.respelledText === undefined ? {} : { originalPrompt: planned.text };
  const speed = findChosenSpeed(state, partIndex);
  const input = { ...buildPartInput(plan, planned), ...(speed === undefined ? {} : { speed }) };
  return { input, ...written, take: findChosenTake(state, partIndex) };
}

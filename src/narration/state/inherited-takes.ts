/** Keeps chosen takes when a text is edited, for the parts that the edit does not change. */
import { canonicalInput } from "../../generation/canonical-input.ts";
import { partInput } from "./narration-id.ts";
import type { NarrationRepository } from "./narration-repository.ts";
import type { NarrationState, StoredPart, StoredPlan } from "./narration-state.ts";

/**
 * Number of newest narrations that are searched. A small number suffices, because a text is usually edited soon after
 * its narration.
 */
const MAX_SEARCHED_NARRATIONS = 20;

/** Returns two strings by which equal parts are found: the input of the part, and the input with the start time. */
function keysOf(plan: StoredPlan, part: StoredPart): readonly [input: string, timed: string] {
  const input = canonicalInput(partInput(plan, part));
  return [input, `${input} at ${part.startSeconds}`];
}

/** Finds the takes for a new narration: those that were chosen for the same parts in the newest narrations. */
export async function inheritedTakes(
  repository: NarrationRepository,
  plan: StoredPlan,
): Promise<NarrationState["takes"]> {
  const takesByKey = new Map<string, Pick<NarrationState["takes"][number], "take" | "speed">>();
  for (const { narrationId, state } of await repository.newest(MAX_SEARCHED_NARRATIONS)) {
    // Skip narrations that were only planned, because nobody agreed to their takes.
    if (state.takes.length === 0 || state.status === "planned") continue;
    const { plan: other } = await repository.get(narrationId);
    for (const { part: index, ...choice } of state.takes) {
      const part = other.parts[index];
      if (part === undefined) continue;
      // The newest choice applies.
      for (const key of keysOf(other, part)) if (!takesByKey.has(key)) takesByKey.set(key, choice);
    }
  }
  if (takesByKey.size === 0) return [];
  const keys = plan.parts.map((part) => keysOf(plan, part));
  const counts = new Map<string, number>();
  for (const [input] of keys) counts.set(input, (counts.get(input) ?? 0) + 1);
  return keys.flatMap(([input, timed], index) => {
    // The times distinguish cues with equal words.
    const choice = takesByKey.get(timed) ?? (counts.get(input) === 1 ? takesByKey.get(input) : undefined);
    return choice === undefined ? [] : [{ part: index, ...choice }];
  });
}

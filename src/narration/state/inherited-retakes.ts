/**
 * Finds the retakes that a new narration inherits. For example, when a text is edited, the parts that the edit does not
 * change keep their chosen takes and speeds.
 */
import { MAX_NARRATIONS_SEARCHED_FOR_RETAKES } from "../../ledger/search-limits.ts";
import { canonicalizeInput } from "../../requests/canonical-input.ts";
import type { NarrationRepository } from "./narration-repository.ts";
import type { NarrationState, StoredPart, StoredPlan } from "./narration-state.ts";
import { buildPartInput } from "./part-input.ts";

/** Returns two keys of a part: its input, and its input with its start time. Equal parts have equal keys. */
function deriveKeys(plan: StoredPlan, part: StoredPart): readonly [input: string, timed: string] {
  const input = canonicalizeInput(buildPartInput(plan, part));
  return [input, `${input} at ${part.startSeconds}`];
}

/**
 * Returns the retakes for a new narration. They were chosen for equal parts of earlier narrations; newer choices take
 * precedence.
 */
export async function findInheritedRetakes(
  repository: NarrationRepository,
  plan: StoredPlan,
): Promise<NarrationState["retakes"]> {
  const choicesByKey = new Map<string, Pick<NarrationState["retakes"][number], "take" | "speed">>();
  for (const { narrationId, state } of await repository.listNewest(MAX_NARRATIONS_SEARCHED_FOR_RETAKES)) {
    // Skip narrations that were only planned, because nobody agreed to their retakes.
    if (state.retakes.length === 0 || state.status === "planned") continue;
    const { plan: other } = await repository.get(narrationId);
    for (const { partIndex, ...choice } of state.retakes) {
      const part = other.parts[partIndex];
      if (part === undefined) continue;
      // The narrations come newest first, so keep the first choice for each key.
      for (const key of deriveKeys(other, part)) if (!choicesByKey.has(key)) choicesByKey.set(key, choice);
    }
  }
  if (choicesByKey.size === 0) return [];
  const keys = plan.parts.map((part) => deriveKeys(plan, part));
  const counts = new Map<string, number>();
  for (const [input] of keys) counts.set(input, (counts.get(input) ?? 0) + 1);
  return keys.flatMap(([input, timed], index) => {
    // Try the key with the start time first. Only the start time distinguishes cues with equal words.
    const choice = choicesByKey.get(timed) ?? (counts.get(input) === 1 ? choicesByKey.get(input) : undefined);
    return choice === undefined ? [] : [{ partIndex: index, ...choice }];
  });
}

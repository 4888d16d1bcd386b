/** Carries chosen takes over an edit: a part that stays as it was keeps the take that somebody chose for it. */
import { canonicalInput } from "../generation/canonical-input.ts";
import { inputOf } from "./narration-id.ts";
import type { NarrationRepository } from "./narration-repository.ts";
import type { NarrationState, StoredPart, StoredPlan } from "./narration-state.ts";

/** Narrations that are looked at, the newest; an edit follows soon. */
const MAX_LOOKED_AT = 20;

/** Takes that are chosen for a part alone, with the time of the choice. */
function keysOf(plan: StoredPlan, part: StoredPart): readonly [input: string, timed: string] {
  const input = canonicalInput(inputOf(plan, part));
  return [input, `${input} at ${part.startSeconds}`];
}

/** The takes of a new narration, by what the newest narrations with the same parts have chosen. */
export async function inheritedTakes(
  book: NarrationRepository,
  plan: StoredPlan,
): Promise<NarrationState["takes"]> {
  const chosen = new Map<string, Pick<NarrationState["takes"][number], "take" | "speed">>();
  for (const { narrationId, state } of await book.newest(MAX_LOOKED_AT)) {
    if (state.takes.length === 0) continue;
    const { plan: other } = await book.get(narrationId);
    for (const { part: index, ...choice } of state.takes) {
      const part = other.parts[index];
      if (part === undefined) continue;
      // The newest choice counts.
      for (const key of keysOf(other, part)) if (!chosen.has(key)) chosen.set(key, choice);
    }
  }
  if (chosen.size === 0) return [];
  const keys = plan.parts.map((part) => keysOf(plan, part));
  const counts = new Map<string, number>();
  for (const [input] of keys) counts.set(input, (counts.get(input) ?? 0) + 1);
  return keys.flatMap(([input, timed], index) => {
    // Times distinguish cues with the same words.
    const choice = chosen.get(timed) ?? (counts.get(input) === 1 ? chosen.get(input) : undefined);
    return choice === undefined ? [] : [{ part: index, ...choice }];
  });
}

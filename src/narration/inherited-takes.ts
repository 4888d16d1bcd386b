/** Carries chosen takes over an edit: a part that stays as it was keeps the take that somebody chose for it. */
import { canonicalInput } from "../generation/canonical-input.ts";
import type { NarrationBook } from "./narration-book.ts";
import { inputOf } from "./narration-id.ts";
import type { NarrationState, StoredPlan } from "./narration-state.ts";

/** Narrations that are looked at, the newest; an edit follows soon. */
const MOST_LOOKED_AT = 20;

/** The takes of a new narration, by what the newest narrations with the same parts have chosen. */
export async function inheritedTakes(
  book: NarrationBook,
  plan: StoredPlan,
): Promise<NarrationState["takes"]> {
  const chosen = new Map<string, Pick<NarrationState["takes"][number], "take" | "speed">>();
  for (const { narrationId, state } of await book.newest(MOST_LOOKED_AT)) {
    if (state.takes.length === 0) continue;
    const { plan: other } = await book.get(narrationId);
    for (const { part: index, ...choice } of state.takes) {
      const part = other.parts[index];
      const input = part === undefined ? null : canonicalInput(inputOf(other, part));
      // The newest choice counts.
      if (input !== null && !chosen.has(input)) chosen.set(input, choice);
    }
  }
  if (chosen.size === 0) return [];
  return plan.parts.flatMap((part, index) => {
    const choice = chosen.get(canonicalInput(inputOf(plan, part)));
    return choice === undefined ? [] : [{ part: index, ...choice }];
  });
}

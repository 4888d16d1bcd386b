/** The saved parts of a narration, each verified, before they are joined. */
import type { PartCall, PartWork, SavedPart } from "../generation/use-cases/generate-part.ts";
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { partRequest } from "./part-request.ts";
import { standingOf } from "./tally.ts";

export interface PartFile extends SavedPart {
  /** In the plan. */
  readonly index: number;
}

export interface SpokenParts {
  readonly plan: StoredPlan;
  readonly state: NarrationState;
  /** Indexes, in the order of the text. */
  readonly spoken: readonly number[];
}

/**
 * A file that somebody has removed since is fetched again, free of charge.
 *
 * @returns `null`: a part is not saved any more, and has to be made again
 * @throws what fetching throws; the signal's reason
 */
export async function partFiles(
  parts: PartWork,
  { plan, state, spoken }: SpokenParts,
  call: PartCall,
): Promise<PartFile[] | null> {
  const files: PartFile[] = [];
  for (const index of spoken) {
    const request = partRequest(plan, state, index);
    if (standingOf(await parts.find(request)) !== "saved") return null;
    files.push({ index, ...(await parts.generate(request, call)) });
  }
  return files;
}

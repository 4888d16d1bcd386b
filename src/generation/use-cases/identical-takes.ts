/** Says of a take whose audio is that of an earlier one that it is: nobody is to pay for a further one in the hope of another. */
import type { SavedFile } from "../../files/saved-file.ts";
import { workId } from "../../ledger/identity.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";

type Deps = Pick<GenerationDeps, "ledger">;

/** So many takes are compared, the first and the nearest before: each is a look into the ledger. */
const MAX_COMPARED = 9;

function earlierTakes(take: number): number[] {
  const nearest = Array.from({ length: Math.min(take - 1, MAX_COMPARED) }, (_, index) => take - 1 - index);
  return [...new Set([1, ...nearest.reverse()])];
}

/** The first take before this one with the very same bytes, as they were saved; `null` where there is none. */
async function identicalTake(
  { ledger }: Deps,
  { origin, input, take }: TaskRecord,
  { sizeBytes, sha256 }: SavedFile,
): Promise<number | null> {
  if (input === null || take === null || take === 1) return null;
  for (const earlier of earlierTakes(take)) {
    const records = await ledger.ofWork(workId(origin, input, earlier));
    const files = records.flatMap((record) => record.files);
    if (files.some((file) => file.sizeBytes === sizeBytes && file.sha256 === sha256)) return earlier;
  }
  return null;
}

/** A sentence about a take whose audio is an earlier one's; `null`: it is not. */
export async function identicalNote(deps: Deps, record: TaskRecord, file: SavedFile): Promise<string | null> {
  const twin = await identicalTake(deps, record, file);
  return twin === null
    ? null
    : `This audio is identical to take ${twin}, byte for byte: a further take would most likely be so, too, and cost credits again.`;
}

/**
 * Warns if a take is byte-identical to an earlier one, so that nobody pays for further takes, which would probably be
 * identical too.
 */
import type { SavedFile } from "../../files/saved-file.ts";
import { deriveRequestFingerprint } from "../../ledger/identity.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";

type TakeDeps = Pick<RequestDeps, "ledger">;

/**
 * Maximum number of preceding takes that are compared. The number is limited because each comparison reads the ledger.
 * The first take is always compared.
 */
const MAX_COMPARED = 9;

function listEarlierTakes(take: number): number[] {
  const nearest = Array.from({ length: Math.min(take - 1, MAX_COMPARED) }, (_, index) => take - 1 - index);
  return [...new Set([1, ...nearest.reverse()])];
}

/** Finds the first earlier take with the same bytes; `null` if there is none. */
async function findIdenticalTake(
  { ledger }: TakeDeps,
  { baseUrl, input, take }: RequestRecord,
  { sizeBytes, sha256 }: SavedFile,
): Promise<number | null> {
  if (input === null || take === null || take === 1) return null;
  for (const earlier of listEarlierTakes(take)) {
    const records = await ledger.findByFingerprint(deriveRequestFingerprint(baseUrl, input, earlier));
    const files = records.flatMap((record) => record.files);
    if (files.some((file) => file.sizeBytes === sizeBytes && file.sha256 === sha256)) return earlier;
  }
  return null;
}

/** The warning about an identical take; `null` if there is none. */
export async function describeIdenticalTake(
  deps: TakeDeps,
  record: RequestRecord,
  file: SavedFile,
): Promise<string | null> {
  const duplicate = await findIdenticalTake(deps, record, file);
  return duplicate === null
    ? null
    : `This audio is identical to take ${duplicate}, byte for byte: a further take would most likely be so, too, and cost credits again.`;
}

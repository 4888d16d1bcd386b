/**
 * Warns if a take is byte-identical to an earlier one, so that nobody pays for further takes, which would probably be
 * identical too.
 */

import { listFiles } from "../ledger/file-rows.ts";
import { deriveRequestFingerprint, deriveRequestId } from "../ledger/identity.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { FileRow, RequestRow } from "../ledger/schema.ts";

/**
 * Maximum number of preceding takes that are compared. The number is limited because each comparison reads the ledger.
 * The first take is always compared.
 */
const MAX_COMPARED = 9;

function listEarlierTakes(take: number): number[] {
  const nearest = Array.from({ length: Math.min(take - 1, MAX_COMPARED) }, (_, index) => take - 1 - index);
  return [...new Set([1, ...nearest.reverse()])];
}

/** The warning about an earlier take with the same bytes; `null` if there is none. */
export async function describeIdenticalTake(
  ledger: Ledger,
  { base_url, api_key_id, body, take }: RequestRow,
  { size_bytes, sha256 }: Pick<FileRow, "size_bytes" | "sha256">,
): Promise<string | null> {
  if (body === null || take === null || take === 1) return null;
  const takeByRequest = new Map(
    listEarlierTakes(take).map((earlier) => [
      deriveRequestId(deriveRequestFingerprint(base_url, body, earlier), api_key_id),
      earlier,
    ]),
  );
  const files = await listFiles(ledger, [...takeByRequest.keys()]);
  const twins = files.filter((file) => file.size_bytes === size_bytes && file.sha256 === sha256);
  if (twins.length === 0) return null;
  const first = Math.min(...twins.map(({ owner }) => takeByRequest.get(owner) ?? take));
  return `This audio is identical to take ${first}, byte for byte: a further take would most likely be so, too, and cost credits again.`;
}

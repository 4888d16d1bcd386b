/** Decides which record owns each saved file. */
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";

/**
 * Assigns each path to one record: the record that saved a file there last.
 *
 * @returns a function that lists the files that a record owns
 */
export function createFileOwnerFilter(
  records: readonly RequestRecord[],
): (record: RequestRecord) => SavedFile[] {
  const owners = new Map<string, { readonly recordId: string; readonly savedAtMs: number }>();
  for (const { recordId, files } of records) {
    for (const { path, savedAtMs } of files) {
      const knownOwner = owners.get(path);
      if (knownOwner === undefined || savedAtMs > knownOwner.savedAtMs)
        owners.set(path, { recordId, savedAtMs });
    }
  }
  return ({ recordId, files }) => files.filter(({ path }) => owners.get(path)?.recordId === recordId);
}

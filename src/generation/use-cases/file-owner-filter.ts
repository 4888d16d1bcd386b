/**
 * Finds which recorded files still belong to a record and exist. Reads no file content, because lists must be
 * quick.
 */
import { lstat } from "node:fs/promises";
import { isInsideFolder } from "../../files/file-content.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";

/** Assigns each file to one record. A name that was used more than once belongs to the record that saved it last. */
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

/** Finds the newest file that exists with its recorded size. The content is verified when the file is read. */
export async function findNewestExisting(files: readonly SavedFile[], root: string): Promise<string | null> {
  for (const { path, sizeBytes } of [...files].reverse()) {
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() === true && stats.size === sizeBytes && (await isInsideFolder(path, root)))
      return path;
  }
  return null;
}

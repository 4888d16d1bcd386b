/** Which recorded files are still a record's own, and which of them are there, for lists: without reading a byte of them. */
import { lstat } from "node:fs/promises";
import { isInside } from "../../files/file-content.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { TaskRecord } from "../../ledger/record.ts";

/** One file is one task's: where a name was used again, it is that of the record whose audio got it last. */
export function ownFilesAmong(records: readonly TaskRecord[]): (record: TaskRecord) => SavedFile[] {
  const owners = new Map<string, { readonly recordId: string; readonly savedAtMs: number }>();
  for (const { recordId, files } of records) {
    for (const { path, savedAtMs } of files) {
      const known = owners.get(path);
      if (known === undefined || savedAtMs > known.savedAtMs) owners.set(path, { recordId, savedAtMs });
    }
  }
  return ({ recordId, files }) => files.filter(({ path }) => owners.get(path)?.recordId === recordId);
}

/** A file of that size at that place; whether it is unchanged is checked when it is asked for. */
export async function newestExisting(files: readonly SavedFile[], root: string): Promise<string | null> {
  for (const { path, sizeBytes } of [...files].reverse()) {
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() === true && stats.size === sizeBytes && (await isInside(path, root))) return path;
  }
  return null;
}

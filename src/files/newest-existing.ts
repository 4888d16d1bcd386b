/** Finds a saved file that still exists. Reads no file content, because lists must be quick. */
import { lstat } from "node:fs/promises";
import { isInsideFolder } from "./file-content.ts";
import type { SavedFile } from "./saved-file.ts";

/** Finds the newest file that exists and has its recorded size. The content is verified only when the file is read. */
export async function findNewestExisting(files: readonly SavedFile[], root: string): Promise<string | null> {
  for (const { path, sizeBytes } of [...files].reverse()) {
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() === true && stats.size === sizeBytes && (await isInsideFolder(path, root)))
      return path;
  }
  return null;
}

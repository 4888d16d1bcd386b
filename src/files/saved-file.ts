/**
 * Describes a saved copy of audio and a file that audio will replace, and says whether a copy still exists. Reads no
 * content, because lists must be quick.
 */
import { lstat } from "node:fs/promises";
import { isInsideFolder } from "./file-content.ts";

export interface SavedFile {
  /** Absolute real path. */
  path: string;
  sizeBytes: number;
  sha256: string;
  savedAtMs: number;
  /**
   * False if the bytes do not match the audio's format. Such a file is saved as `.bin`, reported, and never delivered
   * as audio.
   */
  matchesFormat: boolean;
  /** The length of audio that is shorter than the service stated; `null` or absent for whole audio. */
  shortSeconds?: number | null;
}

/** A file that this server saved, and that a person wants to replace. */
export interface FileToReplace {
  /** Only a file with exactly these bytes is replaced. */
  sizeBytes: number;
  sha256: string;
  /** The name of the file, with extension. */
  name: string;
  /** The free name to which the file is moved while it is being replaced. */
  movedTo: string;
}

/** Whether a file exists with its recorded size. The content is verified only when the file is read. */
export async function isThere({ path, sizeBytes }: SavedFile, root: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  return stats?.isFile() === true && stats.size === sizeBytes && (await isInsideFolder(path, root));
}

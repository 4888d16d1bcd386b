/** Reads a small text file that a setting names. Returns the reason as a clause if the file cannot be read. */
import { readFileSync, statSync } from "node:fs";

const MAX_BYTES = 64 * 1024;

/**
 * Reads a file of at most 64 KiB as UTF-8, without its byte order mark. `issue` is a clause that follows the word
 * "which", such as "is not a file".
 */
export function readSmallFile(path: string): { readonly text: string } | { readonly issue: string } {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { issue: "is not a file" };
    if (stats.size > MAX_BYTES) return { issue: `is larger than ${MAX_BYTES / 1024} KiB` };
    return { text: readFileSync(path, "utf8").replace(/^\ufeff/, "") };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "no reason given";
    return { issue: `cannot be read (${code})` };
  }
}

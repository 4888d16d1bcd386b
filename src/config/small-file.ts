/** Reads a small JSON file that a setting names. Returns the reason as a clause if the file cannot be read. */
import { readFileSync, statSync } from "node:fs";

const MAX_BYTES = 64 * 1024;

/**
 * Reads a JSON file of at most 64 KiB in UTF-8. `issue` is a clause that follows the word "which", such as "is not a
 * file".
 *
 * @param example words that follow "is not JSON"
 */
export function readSmallJson(
  path: string,
  example: string,
): { readonly value: unknown } | { readonly issue: string } {
  let text: string;
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { issue: "is not a file" };
    if (stats.size > MAX_BYTES) return { issue: `is larger than ${MAX_BYTES / 1024} KiB` };
    text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "no reason given";
    return { issue: `cannot be read (${code})` };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { issue: `is not JSON ${example}` };
  }
}

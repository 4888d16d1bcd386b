/** Finds leaks: files outside of the folders, and the key in any spelling. Asserts nothing. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Returns the path of every file below a folder. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

/** Returns the texts to search for: the key as it is, in base64 and in hexadecimal, and its header in base64. */
export function spellingsOf(key: string): string[] {
  const bytes = Buffer.from(key);
  const basic = Buffer.from(`Bearer ${key}`);
  return [key, bytes.toString("base64"), bytes.toString("hex"), basic.toString("base64")];
}

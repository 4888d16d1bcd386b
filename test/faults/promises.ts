/** Owns looking for what must be nowhere: files outside of the folders, the key in any spelling; asserts nothing. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Every file below a folder, as paths. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

/** Texts under which the key could hide. */
export function spellingsOf(key: string): string[] {
  const bytes = Buffer.from(key);
  const basic = Buffer.from(`Bearer ${key}`);
  return [key, bytes.toString("base64"), bytes.toString("hex"), basic.toString("base64")];
}

/** Tries a name, then the same with numbers behind it, until one is accepted. */
import { numberedName } from "./file-name.ts";

const LAST_NUMBER = 999;

/**
 * `name.mp3`, `name-2.mp3`, … in turn.
 *
 * @param base with extension
 * @param isAccepted tries one name; what it throws ends the search
 * @returns the first name that was accepted; `null`: none of them was
 */
export async function nextName(
  base: string,
  isAccepted: (name: string) => Promise<boolean>,
): Promise<string | null> {
  for (let number = 1; number <= LAST_NUMBER; number += 1) {
    const name = numberedName(base, number);
    if (await isAccepted(name)) return name;
  }
  return null;
}

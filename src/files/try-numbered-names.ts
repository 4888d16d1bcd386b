/** Tries a name, then numbered variants of it, until one is accepted. */
import { AudioError } from "../errors.ts";
import { buildNumberedName } from "./file-name.ts";

export const LAST_NUMBER = 999;

/**
 * Tries `name.mp3`, `name-2.mp3`, … in turn.
 *
 * @param base the name to try first, with its extension
 * @param tryName tries one name; an error ends the search
 * @returns the first name that was accepted
 * @throws AudioError `invalid_file_name` if no name was accepted
 */
export async function tryNumberedNames(
  base: string,
  tryName: (name: string) => Promise<boolean>,
): Promise<string> {
  for (let number = 1; number <= LAST_NUMBER; number += 1) {
    const name = buildNumberedName(base, number);
    if (await tryName(name)) return name;
  }
  const names = `${JSON.stringify(base)} and every name with a number added, up to ${LAST_NUMBER}`;
  throw new AudioError("invalid_file_name", `${names}, are taken in the output folder.`, {
    remedy: "Choose another name. Nothing was overwritten.",
  });
}

/** Finds a free name in the output folder: the wanted one, or a numbered variant of it. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { AudioError } from "../errors.ts";
import { fileError, getSystemCode } from "./file-error.ts";
import { buildNumberedName } from "./file-name.ts";
import type { OutputFolder } from "./output-folder.ts";

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

/**
 * Returns whether the name is free. `taken` means that a file has the name, whatever its bytes.
 *
 * @param fileName with extension
 * @throws AudioError `invalid_file_name` if the name is too long for the file system; `output_not_writable`
 */
export async function probeNameAvailability(
  folder: OutputFolder,
  fileName: string,
): Promise<"free" | "taken"> {
  try {
    await lstat(join(folder.root, fileName));
    return "taken";
  } catch (error) {
    const code = getSystemCode(error);
    if (code === "ENOENT") return "free";
    if (code !== "ENAMETOOLONG") throw fileError(error, folder.root);
    throw new AudioError(
      "invalid_file_name",
      "The file name is too long for the file system of the output folder.",
      {
        cause: error,
      },
    );
  }
}

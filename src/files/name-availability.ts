/** Checks whether a file name can be used in the output folder, before anything is sent. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { AudioError } from "../errors.ts";
import { fileError, getSystemCode } from "./file-error.ts";
import type { OutputFolder } from "./output-folder.ts";

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
      "file_name is too long for the file system of the output folder.",
      {
        cause: error,
      },
    );
  }
}

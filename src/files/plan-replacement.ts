/** Plans the replacement of a file. */
import type { FileDigest } from "./file-content.ts";
import { buildPreviousName } from "./file-name.ts";
import { probeNameAvailability } from "./name-availability.ts";
import type { OutputFolder } from "./output-folder.ts";
import type { FileToReplace } from "./saved-file.ts";
import { tryNumberedNames } from "./try-numbered-names.ts";

/** Chooses a free name to which the old file is moved while it is being replaced. */
export async function planReplacement(
  folder: OutputFolder,
  name: string,
  { sizeBytes, sha256 }: FileDigest,
): Promise<FileToReplace> {
  const isFree = async (tried: string): Promise<boolean> =>
    (await probeNameAvailability(folder, tried)) === "free";
  return { sizeBytes, sha256, name, movedTo: await tryNumberedNames(buildPreviousName(name), isFree) };
}

/**
 * Plans and makes the replacement of a file that this server saved. At every moment, the old file or the new file exists completely
 * (docs/reference-files.md, Names of files).
 */
import { join } from "node:path";
import type { FileDigest } from "./file-content.ts";
import { matchesDigest } from "./file-content.ts";
import { buildPreviousName } from "./file-name.ts";
import { probeNameAvailability, tryNumberedNames } from "./free-names.ts";
import type { OutputFolder } from "./output-folder.ts";
import { type LinkMaker, type PublishOutcome, publish, renameIfFree, syncFolder } from "./publish.ts";
import type { FileToReplace } from "./saved-file.ts";
import { removeIfPresent } from "./temporary-file.ts";

/**
 * Publishes a finished temporary file under `name`, in place of the `replaced` file: moves the replaced file from
 * `name` to `movedTo`, publishes the new file, and then removes the replaced file. Also completes a replacement that a
 * crash interrupted after the move. If the file at `name` equals neither the replaced file nor the new file, that file
 * stays and the result is `taken`.
 *
 * @param replaced the file to replace. If it is `null` or its name is not `name`, nothing is replaced, and the result
 *   is that of {@link publish}
 */
export async function publishReplacing(
  temporaryPath: string,
  folder: string,
  name: string,
  digest: FileDigest,
  replaced: FileToReplace | null,
  makeLink?: LinkMaker,
): Promise<PublishOutcome> {
  if (replaced?.name !== name) return await publish(temporaryPath, folder, name, digest, makeLink);
  if (!isSame(digest, replaced) && (await matchesDigest(join(folder, name), replaced))) {
    if (!(await moveAside(folder, name, replaced))) return "taken";
    // Flush the folder, so that a power cut cannot lose both the old and the new name of the file.
    await syncFolder(folder);
  }
  let outcome: PublishOutcome = "taken";
  try {
    outcome = await publish(temporaryPath, folder, name, digest, makeLink);
  } finally {
    if (outcome === "taken") await moveBack(folder, name, replaced);
  }
  if (outcome === "taken") return outcome;
  await syncFolder(folder);
  const aside = join(folder, replaced.movedTo);
  if (await matchesDigest(aside, replaced)) await removeIfPresent(aside);
  return outcome;
}

const isSame = (a: FileDigest, b: FileDigest): boolean =>
  a.sizeBytes === b.sizeBytes && a.sha256 === b.sha256;

/**
 * Moves the replaced file from `name` to `movedTo`.
 *
 * @returns whether the file was moved; `false` if the file is open elsewhere, if it was edited at the last moment, or
 *   if the name `movedTo` is taken
 */
async function moveAside(folder: string, name: string, replaced: FileToReplace): Promise<boolean> {
  const moveResult = await renameIfFree(join(folder, name), folder, replaced.movedTo).catch(
    () => "taken" as const,
  );
  if (moveResult === "taken") return false;
  if (await matchesDigest(join(folder, replaced.movedTo), replaced)) return true;
  await renameIfFree(join(folder, replaced.movedTo), folder, name).catch(() => undefined);
  return false;
}

/** Restores the old file's name if the new file was not published, unless another file has taken the name. */
async function moveBack(folder: string, name: string, replaced: FileToReplace): Promise<void> {
  const aside = join(folder, replaced.movedTo);
  if (await matchesDigest(aside, replaced)) await renameIfFree(aside, folder, name).catch(() => undefined);
}

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

/**
 * Gives a finished file its name, and replaces a file that this server saved. At every moment, the old file or the new file exists completely
 * (docs/reference-files.md, Names of files).
 */
import { join } from "node:path";
import { type FileDigest, isSameContent, matchesDigest } from "./file-content.ts";
import { buildPreviousName } from "./file-name.ts";
import { probeNameAvailability, tryNumberedNames } from "./free-names.ts";
import type { OutputFolder } from "./output-folder.ts";
import { type LinkMaker, type PublishOutcome, publish, renameIfFree, syncFolder } from "./publish.ts";
import { removeIfPresent } from "./temporary-file.ts";

/** A file that this server saved, and that a person wants to replace. Only a file with exactly its bytes is replaced. */
export interface FileToReplace extends FileDigest {
  /** The name of the file, with extension. */
  readonly name: string;
  /** The free name to which the file is moved while it is being replaced. */
  readonly movedTo: string;
}

/** Which names a new file may take. */
export interface NameChoice {
  /** An earlier file. The new file replaces it if both have the same name. */
  readonly fileToReplace?: FileToReplace | null;
  /** Returns whether the file may get a name, for example `name-2.mp3`. If it is absent, the file may get any name. */
  readonly mayBeNamed?: (name: string) => Promise<boolean>;
  /** Only for tests of file systems without hard links. */
  readonly makeLink?: LinkMaker;
}

/**
 * Publishes a finished temporary file under a name or its next free variant, and flushes the folder. If a file with the
 * same name and bytes exists, keeps that file instead.
 *
 * @returns the name that the file got
 * @throws AudioError `invalid_file_name` if no name is free
 */
export async function publishUnderFreeName(
  temporaryPath: string,
  folder: string,
  base: string,
  digest: FileDigest,
  { fileToReplace = null, mayBeNamed, makeLink }: NameChoice = {},
): Promise<string> {
  const name = await tryNumberedNames(base, async (tried) => {
    if (mayBeNamed !== undefined && !(await mayBeNamed(tried))) return false;
    return (
      (await publishReplacing(temporaryPath, folder, tried, digest, fileToReplace, makeLink)) !== "taken"
    );
  });
  await syncFolder(folder);
  return name;
}

/**
 * Publishes a finished temporary file under `name`, in place of the `replaced` file: moves the replaced file from
 * `name` to `movedTo`, publishes the new file, and then removes the replaced file. Also completes a replacement that a
 * crash interrupted after the move. If the file at `name` equals neither the replaced file nor the new file, that file
 * stays and the result is `taken`.
 *
 * @param replaced the file to replace. If it is `null` or its name is not `name`, nothing is replaced, and the result
 *   is that of {@link publish}
 */
async function publishReplacing(
  temporaryPath: string,
  folder: string,
  name: string,
  digest: FileDigest,
  replaced: FileToReplace | null,
  makeLink?: LinkMaker,
): Promise<PublishOutcome> {
  if (replaced?.name !== name) return await publish(temporaryPath, folder, name, digest, makeLink);
  if (!isSameContent(digest, replaced) && (await matchesDigest(join(folder, name), replaced))) {
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

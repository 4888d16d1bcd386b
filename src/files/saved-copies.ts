/** Operations on saved audio: check it, read it, copy it under another name. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { AudioError } from "../errors.ts";
import {
  digestBytes,
  isInsideFolder,
  isSameContent,
  matchesDigest,
  openRegular,
  openRegularInside,
  type RecordedFile,
  readBytes,
} from "./file-content.ts";
import { fileError } from "./file-error.ts";
import { buildWrongFormatName } from "./file-name.ts";
import { probeNameAvailability, tryNumberedNames } from "./free-names.ts";
import { assertInPlace, type OutputFolder } from "./output-folder.ts";
import { type NameChoice, publishUnderFreeName } from "./replace.ts";
import type { SavedFile } from "./save-audio.ts";
import { withTemporaryFile } from "./temporary-file.ts";

/** Whether a file exists with its recorded size. The content is verified only when the file is read. */
export async function isThere({ path, sizeBytes }: RecordedFile, root: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  return stats?.isFile() === true && stats.size === sizeBytes && (await isInsideFolder(path, root));
}

/**
 * Whether saved audio is unchanged: a regular file (not a link) inside the folder `root`, with the recorded size and
 * SHA-256.
 */
export async function isIntact(file: RecordedFile, root: string): Promise<boolean> {
  return (await isInsideFolder(file.path, root)) && (await matchesDigest(file.path, file));
}

/**
 * Builds the `not_found` error for saved audio whose file is missing or was changed. The remedy is to call
 * `download_audio`, which is free of charge.
 */
function goneOrChangedError(): AudioError {
  return new AudioError("not_found", "The saved file is gone or was changed since it was saved.", {
    remedy: "Call download_audio with the task id: it fetches the audio again, free of charge.",
  });
}

/**
 * Reads saved audio, and verifies its hash.
 *
 * @param maxBytes maximum size; larger audio is `too_large`
 * @param createGoneError creates the error for a file that is missing or has changed
 * @throws AudioError `too_large`; `not_found` if the file is missing or has changed
 */
export async function readSaved(
  file: RecordedFile,
  root: string,
  maxBytes: number,
  createGoneError: () => AudioError = goneOrChangedError,
): Promise<Uint8Array> {
  if (file.sizeBytes > maxBytes) {
    throw new AudioError(
      "too_large",
      `The audio has ${file.sizeBytes} bytes, more than the ${maxBytes} that can be handed over here; it is saved as ${file.path}.`,
      { remedy: "Use the saved file at that path." },
    );
  }
  const handle = await openRegularInside(file.path, root);
  if (handle === null) throw createGoneError();
  try {
    if ((await handle.stat()).size !== file.sizeBytes) throw createGoneError();
    const bytes = await readBytes(handle, 0, file.sizeBytes);
    if (!isSameContent(digestBytes(bytes), file)) throw createGoneError();
    return bytes;
  } finally {
    await handle.close();
  }
}

/**
 * Copies saved audio to another name, so that an edit of one copy leaves the other copy unchanged. If a file with the
 * same name and bytes exists, keeps that file. If another file has the name, adds a number to the name.
 *
 * @param newFileName with extension
 * @throws AudioError `not_found` if the saved file is gone or was changed; `disk_full`; `output_not_writable`;
 *   `invalid_file_name` if no name is free
 */
export async function copyToName(
  existing: SavedFile,
  folder: OutputFolder,
  newFileName: string,
  choice: NameChoice = {},
): Promise<SavedFile> {
  const { root } = folder;
  const name = existing.matchesFormat ? newFileName : buildWrongFormatName(newFileName);
  const existingCopy =
    choice.fileToReplace == null ? await findExistingCopy(existing, folder, name, choice) : null;
  if (existingCopy !== null) return existingCopy;
  const source = await openRegular(existing.path);
  if (source === null) throw goneOrChangedError();
  try {
    await assertInPlace(root);
    return await withTemporaryFile(root, async (temporary) => {
      for await (const chunk of source.createReadStream({ autoClose: false, start: 0 }))
        await temporary.write(chunk);
      const digest = await temporary.finish((await source.stat()).mode & 0o777);
      if (!isSameContent(digest, existing)) throw goneOrChangedError();
      const published = await publishUnderFreeName(temporary.path, root, name, digest, choice);
      return { ...existing, path: join(root, published) };
    });
  } catch (error) {
    throw fileError(error, root);
  } finally {
    await source.close();
  }
}

/**
 * Looks for a file with the same bytes under the name, and then under its numbered variants. Returns `null` at the
 * first free name.
 */
async function findExistingCopy(
  existing: SavedFile,
  folder: OutputFolder,
  base: string,
  { mayBeNamed = async () => true }: NameChoice,
): Promise<SavedFile | null> {
  let sameFile: SavedFile | null = null;
  await tryNumberedNames(base, async (tried) => {
    const candidate = { ...existing, path: join(folder.root, tried) };
    if ((await isIntact(candidate, folder.root)) && (await mayBeNamed(tried))) sameFile = candidate;
    return sameFile !== null || (await probeNameAvailability(folder, tried)) === "free";
  });
  return sameFile;
}

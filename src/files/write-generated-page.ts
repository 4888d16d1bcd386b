/** Writes a generated page to a chosen path. Overwrites only an earlier page of the same kind. */
import { lstat, rename } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { AudioError } from "../errors.ts";
import { openRegular } from "./file-content.ts";
import { getSystemCode } from "./file-error.ts";
import { publish, syncFolder } from "./publish.ts";
import { retryWhileLocked } from "./retry-while-locked.ts";
import { PRIVATE_MODE, withTemporaryFile } from "./temporary-file.ts";

const refusedError = (path: string, why: string): AudioError =>
  new AudioError("output_not_writable", `${path} ${why}; it stays as it is.`, {
    remedy: "Name another file.",
  });

/**
 * Checks that the path is free, or holds a file that begins with the marker.
 *
 * @throws AudioError `output_not_writable` if something else is at the path
 */
async function checkTarget(path: string, marker: string): Promise<"nothing" | "ours"> {
  const stats = await lstat(path).catch((error) => {
    if (getSystemCode(error) === "ENOENT") return null;
    throw error;
  });
  if (stats === null) return "nothing";
  if (stats.isSymbolicLink()) throw refusedError(path, "is a symbolic link");
  const handle = stats.isFile() ? await openRegular(path) : null;
  if (handle === null) throw refusedError(path, "is not a file that can be read");
  try {
    const markerBytes = Buffer.from(marker);
    const head = Buffer.alloc(markerBytes.byteLength);
    await handle.read(head, 0, head.byteLength, 0);
    if (!head.equals(markerBytes)) throw refusedError(path, "was not written by this command");
    return "ours";
  } finally {
    await handle.close();
  }
}

/**
 * Writes the page completely, or not at all. Only the owner of the file can read the file.
 *
 * @param marker the beginning of every page of this kind
 * @returns the absolute path
 * @throws AudioError `output_not_writable` if the page cannot be written, or if something other than a page of this
 *   kind is at the path
 */
export async function writeGeneratedPage(file: string, marker: string, text: string): Promise<string> {
  const path = resolve(file);
  const folder = dirname(path);
  try {
    const before = await checkTarget(path, marker);
    await withTemporaryFile(folder, async (temporary) => {
      await temporary.write(Buffer.from(text));
      const digest = await temporary.finish(PRIVATE_MODE);
      if (before === "ours") await retryWhileLocked(() => rename(temporary.path, path));
      else if ((await publish(temporary.path, folder, basename(path), digest)) === "taken") {
        throw refusedError(path, "has just been made by somebody else");
      }
    });
    await syncFolder(folder);
    return path;
  } catch (error) {
    const code = getSystemCode(error);
    if (code === undefined || error instanceof AudioError) throw error;
    throw new AudioError("output_not_writable", `${path} cannot be written (${code}).`, {
      remedy: "Name a file in a folder that exists and is writable.",
      cause: error,
    });
  }
}

/** Owns the moment in which a finished file gets its name: never overwriting, never half; knows no audio. */
import { constants } from "node:fs";
import { link, lstat, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { type Digest, holds } from "./file-content.ts";
import { systemCode } from "./file-failure.ts";
import { NO_FOLLOW, removeQuietly } from "./temporary-file.ts";

/** `published`: the name is new. `adopted`: the very same bytes had it already. `taken`: something else has it. */
export type Publication = "published" | "adopted" | "taken";

/** Makes a second name for a file; injected, so that a test can stand in for a file system without hard links. */
export type Link = (existing: string, added: string) => Promise<void>;

/** What file systems without hard links answer (FAT, some network and FUSE ones), or with no more for this file. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV", "EACCES", "EINVAL"]);

/**
 * Gives a finished temporary file the name `name` in its folder and takes its temporary one away. Both names are
 * in one folder, so a link or a rename is atomic: whoever looks sees the whole file or none.
 */
export async function publish(
  temporaryPath: string,
  folder: string,
  name: string,
  digest: Digest,
  makeLink: Link = link,
): Promise<Publication> {
  const target = join(folder, name);
  const outcome = await publishByLink(temporaryPath, target, makeLink);
  const settled = outcome === "unsupported" ? await publishByRename(temporaryPath, target) : outcome;
  if (settled === "published") {
    await removeQuietly(temporaryPath);
    return "published";
  }
  return (await holds(target, digest)) ? "adopted" : "taken";
}

async function publishByLink(
  temporaryPath: string,
  target: string,
  makeLink: Link,
): Promise<"published" | "taken" | "unsupported"> {
  try {
    await makeLink(temporaryPath, target);
    return "published";
  } catch (error) {
    const code = systemCode(error);
    if (code === "EEXIST") return "taken";
    if (code !== undefined && NO_LINKS.has(code)) return "unsupported";
    throw error;
  }
}

/**
 * Without hard links: an empty file, created exclusively, holds the name, and the finished one then replaces it in
 * one step. Nobody else's file can be in the way any more, because the name was free or the creation failed.
 */
async function publishByRename(temporaryPath: string, target: string): Promise<"published" | "taken"> {
  let placeholder: Awaited<ReturnType<typeof open>>;
  try {
    placeholder = await open(
      target,
      constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_FOLLOW,
      0o600,
    );
  } catch (error) {
    if (systemCode(error) === "EEXIST") return "taken";
    throw error;
  }
  const own = await placeholder.stat().finally(() => placeholder.close());
  const now = await lstat(target).catch(() => null);
  // Replaced or written to by somebody within this blink: theirs now.
  if (now === null || now.ino !== own.ino || now.size !== 0) return "taken";
  try {
    await rename(temporaryPath, target);
    return "published";
  } catch (error) {
    await removeQuietly(target);
    throw error;
  }
}

/** Makes a new name survive a power cut. Windows and some network file systems cannot, and need not be asked twice. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY).catch(() => null);
  if (handle === null) return;
  await handle.sync().catch(() => {});
  await handle.close();
}

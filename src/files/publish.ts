/** Gives a finished file its name in one step: never over another file, never half a file. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { link, lstat, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Digest, holds } from "./file-content.ts";
import { systemCode } from "./file-failure.ts";
import { patiently } from "./patience.ts";
import { markerName, NO_FOLLOW, removeQuietly } from "./temporary-file.ts";

/** `published`: the name is new. `adopted`: the very same bytes had it already. `taken`: something else has it. */
export type Publication = "published" | "adopted" | "taken";

/** Makes a second name for a file; injected, so that a test can stand in for a file system without hard links. */
export type Link = (existing: string, added: string) => Promise<void>;

/** How long a marker is respected. Its owner needs milliseconds, so after this it was killed. */
const MARKER_MS = 5000;
const MARKER_POLL_MS = 20;

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
  const settled = outcome === "unsupported" ? await moveFree(temporaryPath, folder, name) : outcome;
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
    // File systems have many ways to say that they know no hard links (EPERM, ENOTSUP, EISDIR on Windows' exFAT, EIO
    // on rclone and Docker Desktop). Where the disk itself is in trouble, the rename will say so.
    return systemCode(error) === "EEXIST" ? "taken" : "unsupported";
  }
}

/**
 * Gives a file of the folder another name, without hard links: a rename, which is atomic but would replace what has the
 * name already. So the name has to be free, and a hidden marker, created exclusively, keeps every other process of this
 * program from taking it between the look and the rename. What remains is another program that makes the very same name
 * in those microseconds; no call of POSIX or Windows that Node offers could detect it.
 */
export async function moveFree(path: string, folder: string, name: string): Promise<"published" | "taken"> {
  // Such file systems often take upper and lower case, and both forms of an accent, for one name.
  const spelling = name.normalize("NFC").toLowerCase();
  const tag = createHash("sha256").update(spelling).digest("hex").slice(0, 16);
  const marker = join(folder, markerName(tag));
  await takeMarker(marker);
  try {
    const target = join(folder, name);
    if (await isTaken(target)) return "taken";
    await patiently(() => rename(path, target));
    return "published";
  } finally {
    await removeQuietly(marker);
  }
}

async function isTaken(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** Creates a marker; one that stays too long was left behind by a killed process and is taken over. */
async function takeMarker(marker: string): Promise<void> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_FOLLOW;
  for (let waitedMs = 0; ; waitedMs += MARKER_POLL_MS) {
    try {
      await (await open(marker, flags, 0o600)).close();
      return;
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
    if (waitedMs < MARKER_MS) await sleep(MARKER_POLL_MS);
    else {
      await removeQuietly(marker);
      waitedMs = 0;
    }
  }
}

/** Makes a new name survive a power cut. Windows and some network file systems can't; there it does nothing. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY).catch(() => null);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

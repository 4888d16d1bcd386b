/** Publishes a finished file under its name in one step, never over another file, and never incomplete. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { link, lstat, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type FileDigest, matchesDigest } from "./file-content.ts";
import { getSystemCode } from "./file-error.ts";
import { retryWhileLocked } from "./retry-while-locked.ts";
import { buildLockFileName, NO_FOLLOW, removeIfPresent } from "./temporary-file.ts";

/**
 * `published`: the file got the name. `already_present`: a file with identical bytes already had the name. `taken`: a
 * file with other bytes has the name.
 */
export type PublishOutcome = "published" | "already_present" | "taken";

/** Creates a hard link. Injected, so that tests can simulate a file system without hard links. */
export type LinkMaker = (existing: string, added: string) => Promise<void>;

/**
 * How long to wait until another process removes its lock file. After this time, this process removes the lock file. A
 * process needs its lock file for milliseconds, so an older lock file belongs to a dead process.
 */
const LOCK_TIMEOUT_MS = 5000;
const LOCK_POLL_MS = 20;

/**
 * Publishes a finished temporary file as `name` in its folder. Both names are in one folder, so a link or a rename is
 * atomic: readers see the whole file or none.
 */
export async function publish(
  temporaryPath: string,
  folder: string,
  name: string,
  digest: FileDigest,
  makeLink: LinkMaker = link,
): Promise<PublishOutcome> {
  const target = join(folder, name);
  const outcome = await publishByLink(temporaryPath, target, makeLink);
  const nameOutcome = outcome === "unsupported" ? await renameIfFree(temporaryPath, folder, name) : outcome;
  if (nameOutcome === "published") {
    await removeIfPresent(temporaryPath);
    return "published";
  }
  return (await matchesDigest(target, digest)) ? "already_present" : "taken";
}

async function publishByLink(
  temporaryPath: string,
  target: string,
  makeLink: LinkMaker,
): Promise<"published" | "taken" | "unsupported"> {
  try {
    await makeLink(temporaryPath, target);
    return "published";
  } catch (error) {
    // Every code except EEXIST is taken as a sign of a file system without hard links, because such file systems fail
    // with various codes (EPERM, ENOTSUP, EISDIR on Windows' exFAT, EIO on rclone and Docker Desktop). If the disk
    // itself has failed, the rename that follows reports the failure.
    return getSystemCode(error) === "EEXIST" ? "taken" : "unsupported";
  }
}

/**
 * Gives a file its final name on file systems without hard links. A rename would overwrite an existing file, so the
 * name is checked first. Between check and rename, a hidden lock file prevents other processes of this program from
 * taking the name. One risk remains: another program may create a file with this name between check and rename. Node
 * offers no system call that could detect this.
 */
export async function renameIfFree(
  path: string,
  folder: string,
  name: string,
): Promise<"published" | "taken"> {
  // Two names that differ only in case or in the Unicode form of accents need the same lock file, because many file
  // systems without hard links treat them as one name.
  const spelling = name.normalize("NFC").toLowerCase();
  const nameHash = createHash("sha256").update(spelling).digest("hex").slice(0, 16);
  const lockPath = join(folder, buildLockFileName(nameHash));
  await createLockFile(lockPath);
  try {
    const target = join(folder, name);
    if (await isTaken(target)) return "taken";
    await retryWhileLocked(() => rename(path, target));
    return "published";
  } finally {
    await removeIfPresent(lockPath);
  }
}

async function isTaken(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (getSystemCode(error) === "ENOENT") return false;
    throw error;
  }
}

/**
 * Creates a lock file. Waits while another process has it. After {@link LOCK_TIMEOUT_MS}, removes the other process's
 * lock file, because that process is dead.
 */
async function createLockFile(lockPath: string): Promise<void> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_FOLLOW;
  let seenModifiedMs: number | null = null;
  for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
    try {
      await (await open(lockPath, flags, 0o600)).close();
      return;
    } catch (error) {
      if (getSystemCode(error) !== "EEXIST") throw error;
    }
    // A lock file with another time is another process's lock file, so the wait begins again.
    const modifiedMs = (await lstat(lockPath).catch(() => null))?.mtimeMs ?? null;
    if (modifiedMs !== seenModifiedMs) waitedMs = 0;
    seenModifiedMs = modifiedMs;
    if (waitedMs >= LOCK_TIMEOUT_MS) await removeIfPresent(lockPath);
    else await sleep(LOCK_POLL_MS);
  }
}

/**
 * Flushes the folder to the disk, so that a new name survives a power cut. Does nothing on Windows and some network
 * file systems, because they cannot flush a folder.
 */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY).catch(() => null);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

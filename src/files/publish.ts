/**
 * Publishes a finished file under its name in one step, never over another file, and never incomplete. Checks whether a
 * folder allows it.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { link, lstat, open, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type FileDigest, matchesDigest, NO_FOLLOW } from "./file-content.ts";
import { fileError, getSystemCode, notWritableError } from "./file-error.ts";
import type { OutputFolder } from "./output-folder.ts";
import { retryWhileLocked } from "./retry-while-locked.ts";
import {
  buildLockFileName,
  buildTemporaryPath,
  PRIVATE_MODE,
  removeIfPresent,
  toRemovalLockPath,
  withTemporaryFile,
} from "./temporary-file.ts";

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
/** How long to wait for a name in all. A lock file that cannot be removed, such as a folder, must not block a save forever. */
const LOCK_GIVE_UP_MS = 12_000;

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
 * Creates a lock file. Waits while another process has it. A lock file that stays unchanged for {@link LOCK_TIMEOUT_MS}
 * belongs to a dead process, and is removed.
 *
 * @throws the system's error if the lock file cannot be created or removed
 */
async function createLockFile(lockPath: string): Promise<void> {
  const startedAtMs = performance.now();
  let seenModifiedMs: number | null = null;
  let seenSinceMs = startedAtMs;
  for (;;) {
    try {
      await createExclusively(lockPath);
      return;
    } catch (error) {
      const nowMs = performance.now();
      if (getSystemCode(error) !== "EEXIST" || nowMs - startedAtMs > LOCK_GIVE_UP_MS) throw error;
      // A lock file with another time is another process's lock file, so the wait begins again.
      const modifiedMs = await readModifiedMs(lockPath);
      if (modifiedMs !== seenModifiedMs) seenSinceMs = nowMs;
      seenModifiedMs = modifiedMs;
      if (nowMs - seenSinceMs >= LOCK_TIMEOUT_MS) await removeDeadLockFile(lockPath, modifiedMs);
    }
    await sleep(LOCK_POLL_MS);
  }
}

/**
 * Removes the lock file of a dead process. A second lock file lets only one process at a time check and remove it.
 * Otherwise, a process could remove the lock file that another process has just created in its place.
 */
async function removeDeadLockFile(lockPath: string, seenModifiedMs: number | null): Promise<void> {
  const removalLockPath = toRemovalLockPath(lockPath);
  try {
    await createExclusively(removalLockPath);
  } catch {
    return;
  }
  try {
    if ((await readModifiedMs(lockPath)) === seenModifiedMs) await removeIfPresent(lockPath);
  } finally {
    await removeIfPresent(removalLockPath);
  }
}

async function createExclusively(path: string): Promise<void> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_FOLLOW;
  await (await open(path, flags, PRIVATE_MODE)).close();
}

const readModifiedMs = async (path: string): Promise<number | null> =>
  (await lstat(path).catch(() => null))?.mtimeMs ?? null;

/**
 * Flushes the folder to the disk, so that a new name survives a power cut. Does nothing on Windows and some network
 * file systems, because they cannot flush a folder.
 */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY).catch(() => null);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

const TEST_CONTENT = Buffer.alloc(4096, "audio-generation-mcp doctor ");

/**
 * Checks the folder: saves a small file in it under a new name, reads the file, and removes it.
 *
 * @throws AudioError `output_not_writable` or `disk_full`, with the reason
 */
export async function tryPublishing(folder: OutputFolder): Promise<void> {
  await folder.ensureWritable();
  const { root } = folder;
  // Use a hidden name, so that the next start removes the file if this process is killed here.
  const target = buildTemporaryPath(root);
  try {
    await withTemporaryFile(root, async (temporary) => {
      await temporary.write(TEST_CONTENT);
      const digest = await temporary.finish(PRIVATE_MODE);
      await publish(temporary.path, root, basename(target), digest);
      if (!(await matchesDigest(target, digest)))
        throw notWritableError(root, "a file that was saved cannot be read back");
    });
  } catch (error) {
    throw fileError(error, root);
  } finally {
    await removeIfPresent(target);
  }
}

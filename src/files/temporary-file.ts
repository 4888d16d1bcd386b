/** Creates hidden temporary files for audio and pages. Removes the temporary files of killed processes. */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createProcessId, isProcessDead } from "../process-id.ts";
import { getSystemCode } from "./file-error.ts";
import { retryWhileLocked } from "./retry-while-locked.ts";

const TEMPORARY_PREFIX = ".audio-generation-";
const TEMPORARY_SUFFIX = ".part";
/** The name contains the owner's process id, so that the file of a dead process can be removed at once. */
const TEMPORARY_NAME = /^\.audio-generation-([0-9a-f]{16}\.\d{1,10}\.[0-9a-f]{12})\.part$/;

/**
 * Matches the name of a lock file. On file systems without hard links, a lock file reserves a name while a file is
 * renamed to it.
 */
const LOCK_FILE_NAME = /^\.audio-generation-[0-9a-f]{16}\.name(?:\.removal)?$/;
const LOCK_FILE_STALE_AFTER_MS = 60_000;

/**
 * Returns the name of the lock file that reserves a file name. `nameHash` must have 16 hexadecimal digits, because
 * {@link sweepTemporaryFiles} recognizes lock files by this form.
 */
export const buildLockFileName = (nameHash: string): string => `${TEMPORARY_PREFIX}${nameHash}.name`;

/** Returns the path of the lock file under which the lock file of a dead process is removed. */
export const toRemovalLockPath = (lockPath: string): string => `${lockPath}.removal`;

/**
 * A temporary file that was not written to for this long is removed, even if its process may be alive, for example on
 * another machine. A running download writes more often, so a file without recent writes is abandoned.
 */
const STALE_AFTER_MS = 2 * 60 * 60 * 1000;

/**
 * Flag that makes it an error to open a symbolic link; 0 on platforms without such a flag. Even on those platforms,
 * creating a new file is safe, because exclusive creation fails if a link has the name.
 */
export const NO_FOLLOW: number = constants.O_NOFOLLOW ?? 0;

export interface TemporaryFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/** Returns an unguessable path for a temporary file. If this process dies, a later process removes the file. */
export const buildTemporaryPath = (folder: string): string =>
  join(folder, `${TEMPORARY_PREFIX}${createProcessId()}${TEMPORARY_SUFFIX}`);

/** Creates an empty file, 0600, under a new unguessable name. */
export async function createTemporaryFile(folder: string): Promise<TemporaryFile> {
  const path = buildTemporaryPath(folder);
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | NO_FOLLOW;
  return { path, handle: await open(path, flags, 0o600) };
}

/** Removes a temporary file if it exists. Never throws, so that it cannot hide an earlier error. */
export async function removeIfPresent(path: string): Promise<void> {
  await retryWhileLocked(() => unlink(path)).catch(() => {});
}

/**
 * Error codes of a flush that is not possible. Node forbids every flush under `--permission`, and some disks cannot
 * flush.
 */
const NO_FLUSH = new Set(["ERR_ACCESS_DENIED", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EINVAL"]);

/**
 * Flushes a file to the disk. Ignores the error of a system that cannot flush, because paid audio must be kept even
 * there.
 */
export async function flushToDisk(handle: FileHandle): Promise<void> {
  await handle.sync().catch((error) => {
    if (!NO_FLUSH.has(getSystemCode(error) ?? "")) throw error;
  });
}

/**
 * Removes temporary files: at once if their process is certainly dead, otherwise two hours after their last write.
 * Removes lock files after one minute.
 */
export async function sweepTemporaryFiles(folder: string, nowWallMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const owner = TEMPORARY_NAME.exec(name)?.[1];
    if (owner === undefined && !LOCK_FILE_NAME.test(name)) continue;
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() !== true) continue;
    const ageMs = nowWallMs - stats.mtimeMs;
    const isAbandoned =
      owner === undefined ? ageMs > LOCK_FILE_STALE_AFTER_MS : isProcessDead(owner) || ageMs > STALE_AFTER_MS;
    if (isAbandoned) await removeIfPresent(path);
  }
}

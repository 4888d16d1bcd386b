/** Creates hidden temporary files for audio and pages, and removes those that killed processes left. */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createProcessId, isProcessDead } from "../process-id.ts";
import { getSystemCode } from "./file-error.ts";
import { retryWhileLocked } from "./retry-while-locked.ts";

const PREFIX = ".audio-generation-";
const SUFFIX = ".part";
/** The name contains the owner's process id, so that the file of a dead process can be removed at once. */
const TEMPORARY_NAME = /^\.audio-generation-([0-9a-f]{16}\.\d{1,10}\.[0-9a-f]{12})\.part$/;

/** Matches the name of a marker. On file systems without hard links, a marker reserves a file name during a rename. */
const MARKER = /^\.audio-generation-[0-9a-f]{16}\.name$/;
const MARKER_STALE_AFTER_MS = 60_000;

export const buildMarkerName = (tag: string): string => `${PREFIX}${tag}.name`;

/**
 * Time since the last write at which a temporary file is removed although its process may be alive, for example on
 * another machine. No download goes two hours without writing, so such a file is abandoned.
 */
const STALE_AFTER_MS = 2 * 60 * 60 * 1000;

/**
 * Flag that makes it an error to open a symbolic link; 0 on platforms without such a flag. New files are safe on these
 * platforms, too, because they are created exclusively.
 */
export const NO_FOLLOW: number = constants.O_NOFOLLOW ?? 0;

export interface TemporaryFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/** Makes an unguessable path. If this process dies, a later process removes the file. */
export const buildTemporaryPath = (folder: string): string =>
  join(folder, `${PREFIX}${createProcessId()}${SUFFIX}`);

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

/** Errors of systems that cannot flush. Node forbids every flush under `--permission`, and some disks support none. */
const NO_FLUSH = new Set(["ERR_ACCESS_DENIED", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EINVAL"]);

/**
 * Flushes a file to the disk. Ignores the error of a system that cannot flush, because paid audio must be kept
 * nevertheless.
 */
export async function flushToDisk(handle: FileHandle): Promise<void> {
  await handle.sync().catch((error) => {
    if (!NO_FLUSH.has(getSystemCode(error) ?? "")) throw error;
  });
}

/**
 * Removes temporary files of killed processes: at once if the process is certainly dead, otherwise after two hours.
 * Removes markers after one minute.
 */
export async function sweepTemporaryFiles(folder: string, nowWallMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const owner = TEMPORARY_NAME.exec(name)?.[1];
    if (owner === undefined && !MARKER.test(name)) continue;
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() !== true) continue;
    const ageMs = nowWallMs - stats.mtimeMs;
    const isAbandoned =
      owner === undefined ? ageMs > MARKER_STALE_AFTER_MS : isProcessDead(owner) || ageMs > STALE_AFTER_MS;
    if (isAbandoned) await removeIfPresent(path);
  }
}

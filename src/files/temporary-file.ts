/** The hidden files that audio grows in before it has a name: making them, and sweeping what killed processes left. */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createProcessId, isProcessGone } from "../process-id.ts";
import { systemCode } from "./file-failure.ts";
import { patiently } from "./patience.ts";

const PREFIX = ".audio-generation-";
const SUFFIX = ".part";
/** The name says whose it is, so that what a dead process left can go at once. */
const PATTERN = /^\.audio-generation-([0-9a-f]{16}\.\d{1,10}\.[0-9a-f]{12})\.part$/;

/** Holds a name for the blink in which a file gets it, where the file system knows no hard links. */
const MARKER = /^\.audio-generation-[0-9a-f]{16}\.name$/;
const MARKER_STALE_AFTER_MS = 60_000;

export const markerName = (tag: string): string => `${PREFIX}${tag}.name`;

/** For files of other machines: longer than any download takes, and a running one keeps its file's time fresh. */
const STALE_AFTER_MS = 2 * 60 * 60 * 1000;

/** Never through a symbolic link; 0 where the platform has no such flag (there, exclusive creation suffices). */
export const NO_FOLLOW: number = constants.O_NOFOLLOW ?? 0;

export interface TemporaryFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/** A new unguessable path that is swept when its process is dead. */
export const temporaryPath = (folder: string): string =>
  join(folder, `${PREFIX}${createProcessId()}${SUFFIX}`);

/** Creates an empty file, 0600, under a new unguessable name. */
export async function createTemporaryFile(folder: string): Promise<TemporaryFile> {
  const path = temporaryPath(folder);
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | NO_FOLLOW;
  return { path, handle: await open(path, flags, 0o600) };
}

/** Removes a temporary file that may be gone already; a failure to remove must not hide what happened before. */
export async function removeQuietly(path: string): Promise<void> {
  await patiently(() => unlink(path)).catch(() => {});
}

/** Node under `--permission` forbids every flush; some disks know none. */
const NO_FLUSH = new Set(["ERR_ACCESS_DENIED", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EINVAL"]);

/** Puts a file's bytes on the disk, where that can be asked for: audio that is paid for is kept all the same. */
export async function flush(handle: FileHandle): Promise<void> {
  await handle.sync().catch((error) => {
    if (!NO_FLUSH.has(systemCode(error) ?? "")) throw error;
  });
}

/** Removes what killed processes left behind: at once where their death is certain, else when it is old. */
export async function sweepTemporaryFiles(folder: string, nowWallMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const owner = PATTERN.exec(name)?.[1];
    if (owner === undefined && !MARKER.test(name)) continue;
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() !== true) continue;
    const ageMs = nowWallMs - stats.mtimeMs;
    const isLeft =
      owner === undefined ? ageMs > MARKER_STALE_AFTER_MS : isProcessGone(owner) || ageMs > STALE_AFTER_MS;
    if (isLeft) await removeQuietly(path);
  }
}

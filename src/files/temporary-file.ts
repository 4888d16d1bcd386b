/** Writes hidden temporary files, and removes those of killed processes. */
import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { ByteSink } from "../api/download.ts";
import { MAGIC_BYTES } from "../contract/audio-format.ts";
import { createProcessId, isProcessDead } from "../process-id.ts";
import { type FileDigest, NO_FOLLOW } from "./file-content.ts";
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

/** Mode of a file that only its owner may read. */
export const PRIVATE_MODE = 0o600;

/** Mode of saved files. The umask and the folder decide what other users of this machine may do with a file. */
export const getSavedMode = (): number => 0o644 & ~process.umask();

/** Returns an unguessable path for a temporary file. If this process dies, a later process removes the file. */
export const buildTemporaryPath = (folder: string): string =>
  join(folder, `${TEMPORARY_PREFIX}${createProcessId()}${TEMPORARY_SUFFIX}`);

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
 * A temporary file. Tracks the size, the SHA-256 and the first bytes of what was written since the last restart.
 */
export class TemporaryFile implements ByteSink {
  readonly path: string;
  readonly handle: FileHandle;
  #hash: Hash = createHash("sha256");
  #head: Uint8Array = new Uint8Array(0);
  #sizeBytes = 0;

  constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.handle = handle;
  }

  get size(): number {
    return this.#sizeBytes;
  }

  /** The first bytes, {@link MAGIC_BYTES} at most. */
  get head(): Uint8Array {
    return this.#head;
  }

  /** The caller may reuse the chunk once the promise resolves. */
  async write(chunk: Uint8Array): Promise<void> {
    // A file system may write fewer bytes than it is given.
    for (let from = 0; from < chunk.byteLength; ) {
      const { bytesWritten } = await this.handle.write(
        chunk,
        from,
        chunk.byteLength - from,
        this.#sizeBytes + from,
      );
      from += bytesWritten;
    }
    if (this.#head.byteLength < MAGIC_BYTES) {
      this.#head = Buffer.concat([this.#head, chunk]).subarray(0, MAGIC_BYTES);
    }
    this.#hash.update(chunk);
    this.#sizeBytes += chunk.byteLength;
  }

  async restart(): Promise<void> {
    await this.handle.truncate(0);
    this.#hash = createHash("sha256");
    this.#head = new Uint8Array(0);
    this.#sizeBytes = 0;
  }

  /**
   * Sets the mode of the file, and flushes it to the disk; must be called once, at the end. Ignores that a file system
   * has no permission bits or cannot flush, because paid audio must be kept even there.
   */
  async finish(mode: number): Promise<FileDigest> {
    await this.handle.chmod(mode).catch(() => undefined);
    await this.handle.sync().catch((error) => {
      if (!NO_FLUSH.has(getSystemCode(error) ?? "")) throw error;
    });
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest("hex") };
  }
}

/** Creates an empty file, 0600, under a new unguessable name. Closes and removes it after its use. */
export async function withTemporaryFile<T>(
  folder: string,
  use: (file: TemporaryFile) => Promise<T>,
): Promise<T> {
  const path = buildTemporaryPath(folder);
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | NO_FOLLOW;
  const handle = await open(path, flags, PRIVATE_MODE);
  try {
    return await use(new TemporaryFile(path, handle));
  } finally {
    await handle.close().catch(() => undefined);
    await removeIfPresent(path);
  }
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

/** Reads and checks existing regular files in the output folder, without following links. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import { isDirectChild, resolveRealPath } from "./real-path.ts";
import { retryWhileLocked } from "./retry-while-locked.ts";

/**
 * Error codes that justify a retry, because they occur while a virus scanner reads the file. The codes for a missing
 * permission are not among them, because a retry would not help.
 */
const IN_USE = new Set(["EBUSY"]);

const CHUNK_BYTES = 256 * 1024;

/**
 * Flag that makes it an error to open a symbolic link; 0 on platforms without such a flag. Even on those platforms,
 * creating a new file is safe, because exclusive creation fails if a link has the name.
 */
export const NO_FOLLOW: number = constants.O_NOFOLLOW ?? 0;

export interface FileDigest {
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** A file with the content that was recorded of it. */
export interface RecordedFile extends FileDigest {
  /** Absolute real path. */
  readonly path: string;
}

export const isSameContent = (a: FileDigest, b: FileDigest): boolean =>
  a.sizeBytes === b.sizeBytes && a.sha256 === b.sha256;

/** Opens a regular file inside a folder for reading, as {@link openRegular} does. */
export const openRegularInside = async (path: string, root: string): Promise<FileHandle | null> =>
  (await isInsideFolder(path, root)) ? await openRegular(path) : null;

/**
 * Opens a regular file for reading. Returns `null` for a link, a folder or a pipe, and for a file that is missing or
 * cannot be opened.
 */
export async function openRegular(path: string): Promise<FileHandle | null> {
  return (await openFile(path))?.handle ?? null;
}

async function openFile(path: string): Promise<{ handle: FileHandle; sizeBytes: number } | null> {
  // Open without blocking, because opening a named pipe would otherwise wait for a writer.
  const flags = constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0);
  // Refuse links on systems without O_NOFOLLOW.
  if (NO_FOLLOW === 0 && (await lstat(path).catch(() => null))?.isFile() !== true) return null;
  const handle = await retryWhileLocked(() => open(path, flags), IN_USE).catch(() => null);
  if (handle === null) return null;
  const stats = await handle.stat().catch(() => null);
  if (stats?.isFile() === true) return { handle, sizeBytes: stats.size };
  await handle.close();
  return null;
}

/** Reads bytes of an open file. Returns fewer bytes than `length` if the file ends before. */
export async function readBytes(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** Computes size and SHA-256 of bytes. */
export const digestBytes = (bytes: Uint8Array): FileDigest => ({
  sizeBytes: bytes.byteLength,
  sha256: createHash("sha256").update(bytes).digest("hex"),
});

/** Computes size and SHA-256 of an open file, from its beginning. */
export async function digestFile(handle: FileHandle): Promise<FileDigest> {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let sizeBytes = 0; ; ) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, sizeBytes);
    if (bytesRead === 0) return { sizeBytes, sha256: hash.digest("hex") };
    hash.update(chunk.subarray(0, bytesRead));
    sizeBytes += bytesRead;
  }
}

/** Whether a path names a regular file with the size and hash of `digest`. */
export async function matchesDigest(path: string, digest: FileDigest): Promise<boolean> {
  const opened = await openFile(path);
  if (opened === null) return false;
  try {
    if (opened.sizeBytes !== digest.sizeBytes) return false;
    return (await digestFile(opened.handle)).sha256 === digest.sha256;
  } catch {
    return false;
  } finally {
    await opened.handle.close();
  }
}

/** Whether a path is below a folder, by the text of both. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Whether the real path of a file is inside a folder. */
export async function isInsideFolder(path: string, root: string): Promise<boolean> {
  try {
    const realFile = await resolveRealPath(path);
    const realRoot = await resolveRealPath(root);
    if (isBelow(realRoot, realFile)) return true;
    // Accept a path with another spelling of the folder, because the spelling may have changed since the file was
    // saved.
    return await isDirectChild(realFile, realRoot);
  } catch {
    return false;
  }
}

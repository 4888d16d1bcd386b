/**
 * Reads pieces of saved files. Verifies the hash of a file at the first piece, and again only if the file has changed
 * since.
 */
import type { FileHandle } from "node:fs/promises";
import { AudioError } from "../errors.ts";
import {
  digestFile,
  isSameContent,
  openRegularInside,
  type RecordedFile,
  readBytes,
} from "./file-content.ts";

/**
 * Maximum size of a piece. The official clients accept pieces of this size. Hosts that refuse results over 1 MB accept
 * them too.
 */
export const MAX_PIECE_BYTES = 512 * 1024;

/** A byte range of a file; it may exceed the file's end. */
export interface Piece {
  readonly offset: number;
  /** At most {@link MAX_PIECE_BYTES}. */
  readonly length: number;
}

/** Maximum number of files that are remembered as verified. */
const MAX_REMEMBERED = 200;

/** Identifies the version of a file. The result changes when the file is written to or replaced. */
async function readStamp(handle: FileHandle): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await handle.stat({ bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
}

/**
 * Creates a reader that remembers up to 200 verified files, so that it does not hash a file again for every piece. If
 * an opened file cannot be read, `read` throws AudioError `not_found`.
 */
export function createPieceReader() {
  /**
   * Maps the hash and path of each verified file to the version of the file that was hashed (see {@link readStamp}).
   */
  const verified = new Map<string, string>();
  return {
    /** @returns `null` if the file is missing, has changed, or is outside the folder */
    async read(file: RecordedFile, root: string, piece: Piece): Promise<Uint8Array | null> {
      const handle = await openRegularInside(file.path, root);
      if (handle === null) return null;
      try {
        const key = `${file.sha256} ${file.path}`;
        const stamp = await readStamp(handle);
        if (verified.get(key) !== stamp) {
          verified.delete(key);
          if (!isSameContent(await digestFile(handle), file)) return null;
          // If something wrote to the file during the hashing, the file does not count as verified.
          if ((await readStamp(handle)) !== stamp) return null;
          verified.set(key, stamp);
          const [oldest] = verified.keys();
          if (verified.size > MAX_REMEMBERED && oldest !== undefined) verified.delete(oldest);
        }
        return await readBytes(handle, piece.offset, piece.length);
      } catch (error) {
        throw new AudioError("not_found", "The saved file cannot be read.", { cause: error });
      } finally {
        await handle.close();
      }
    },
  };
}

export type PieceReader = ReturnType<typeof createPieceReader>;

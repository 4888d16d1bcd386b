/** Writes audio or text to a temporary file, and tracks its size, hash and first bytes. */
import { createHash, type Hash } from "node:crypto";
import type { ByteSink } from "../api/download.ts";
import { MAGIC_BYTES } from "../contract/audio-format.ts";
import type { FileDigest } from "./file-content.ts";
import { flushToDisk, type TemporaryFile } from "./temporary-file.ts";

/**
 * Writes to a temporary file, and tracks the size, the SHA-256 and the first bytes of what was written since the last
 * restart. Neither closes nor publishes the file.
 */
export class FileSink implements ByteSink {
  readonly #file: TemporaryFile;
  #hash: Hash = createHash("sha256");
  #head: Uint8Array = new Uint8Array(0);
  #sizeBytes = 0;

  constructor(file: TemporaryFile) {
    this.#file = file;
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
      const { bytesWritten } = await this.#file.handle.write(
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
    await this.#file.handle.truncate(0);
    this.#hash = createHash("sha256");
    this.#head = new Uint8Array(0);
    this.#sizeBytes = 0;
  }

  /** Flushes the file to the disk; must be called once, at the end. */
  async finish(): Promise<FileDigest> {
    await flushToDisk(this.#file.handle);
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest("hex") };
  }
}

/** The temporary file while it grows: takes bytes, knows their size, hash and first bytes. */
import { createHash, type Hash } from "node:crypto";
import { releaseBytes } from "../api/content.ts";
import type { ByteSink } from "../api/download.ts";
import { MAGIC_BYTES } from "../contract/audio-format.ts";
import type { Digest } from "./file-content.ts";
import { flush, type TemporaryFile } from "./temporary-file.ts";

/** One write for some ten chunks of a socket: each costs a hand-over to a thread and back. */
const BUFFER_BYTES = 512 * 1024;

/** Two buffers take turns: one is filled while the disk has the other. What waits in them counts as written. */
export class AudioSink implements ByteSink {
  readonly #file: TemporaryFile;
  #hash: Hash = createHash("sha256");
  #head: Uint8Array = new Uint8Array(0);
  #sizeBytes = 0;
  #filling: Buffer | null = null;
  #filledBytes = 0;
  /** The other one, which the disk may be reading from. */
  #other: Buffer | null = null;
  #handedOverBytes = 0;
  #writing: Promise<void> = Promise.resolve();

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

  /** The chunk may be reused once this resolves. A failure of the disk is thrown by a later write, or at the end. */
  async write(chunk: Uint8Array): Promise<void> {
    if (this.#head.byteLength < MAGIC_BYTES) {
      this.#head = Buffer.concat([this.#head, chunk]).subarray(0, MAGIC_BYTES);
    }
    for (let from = 0; from < chunk.byteLength; ) {
      this.#filling ??= Buffer.allocUnsafeSlow(BUFFER_BYTES);
      const some = chunk.subarray(from, from + BUFFER_BYTES - this.#filledBytes);
      this.#filling.set(some, this.#filledBytes);
      this.#filledBytes += some.byteLength;
      this.#sizeBytes += some.byteLength;
      from += some.byteLength;
      if (this.#filledBytes === BUFFER_BYTES) await this.#handOver();
    }
  }

  /** Gives the filled buffer to the disk, as soon as that has done with the other one, and hashes it meanwhile. */
  async #handOver(): Promise<void> {
    await this.#writing;
    if (this.#filling === null || this.#filledBytes === 0) return;
    const bytes = this.#filling.subarray(0, this.#filledBytes);
    this.#writing = this.#writeOut(bytes, this.#handedOverBytes);
    // Whoever waits for it next is told.
    this.#writing.catch(() => undefined);
    this.#hash.update(bytes);
    this.#handedOverBytes += bytes.byteLength;
    [this.#filling, this.#other] = [this.#other, this.#filling];
    this.#filledBytes = 0;
  }

  async #writeOut(bytes: Uint8Array, position: number): Promise<void> {
    let written = 0;
    // A file system may take less than it is given.
    while (written < bytes.byteLength) {
      const left = bytes.byteLength - written;
      const { bytesWritten } = await this.#file.handle.write(bytes, written, left, position + written);
      written += bytesWritten;
    }
  }

  async restart(): Promise<void> {
    await this.#writing;
    await this.#file.handle.truncate(0);
    this.#hash = createHash("sha256");
    this.#head = new Uint8Array(0);
    this.#sizeBytes = 0;
    this.#filledBytes = 0;
    this.#handedOverBytes = 0;
  }

  /** Puts everything on the disk; to be called once, at the end. */
  async finish(): Promise<Digest> {
    await this.#handOver();
    await this.#writing;
    for (const buffer of [this.#filling, this.#other]) if (buffer !== null) releaseBytes(buffer);
    await flush(this.#file.handle);
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.digest("hex") };
  }
}

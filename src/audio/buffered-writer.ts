/** Buffers the joined file in large blocks, and counts its bytes. */

/** Receives bytes in order. The caller may reuse the buffer once the promise is fulfilled. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>;

const BLOCK_BYTES = 256 * 1024;

/**
 * Collects bytes in a buffer of 256 KiB before it passes them to `write`. Once the signal has aborted, every flush of
 * the buffer throws the signal's reason.
 */
export class BufferedWriter {
  readonly #write: WriteBytes;
  readonly #signal: AbortSignal | undefined;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #filled = 0;
  #flushedBytes = 0;

  constructor(write: WriteBytes, signal: AbortSignal | undefined) {
    this.#write = write;
    this.#signal = signal;
  }

  get sizeBytes(): number {
    return this.#flushedBytes + this.#filled;
  }

  /** Writes bytes of any length. The caller may reuse the buffer once the promise is fulfilled. */
  async put(bytes: Uint8Array): Promise<void> {
    if (this.#filled + bytes.byteLength > BLOCK_BYTES) await this.flush();
    if (bytes.byteLength > BLOCK_BYTES) {
      await this.#write(bytes);
      this.#flushedBytes += bytes.byteLength;
      return;
    }
    this.#block.set(bytes, this.#filled);
    this.#filled += bytes.byteLength;
  }

  /** Writes the same byte `count` times. */
  async fill(byte: number, count: number): Promise<void> {
    const run = new Uint8Array(Math.min(count, BLOCK_BYTES)).fill(byte);
    for (let bytesLeft = count; bytesLeft > 0; bytesLeft -= run.byteLength) {
      await this.put(bytesLeft < run.byteLength ? run.subarray(0, bytesLeft) : run);
    }
  }

  /** Writes the bytes that are still buffered; must be called at the end. */
  async flush(): Promise<void> {
    this.#signal?.throwIfAborted();
    if (this.#filled === 0) return;
    await this.#write(this.#block.subarray(0, this.#filled));
    this.#flushedBytes += this.#filled;
    this.#filled = 0;
  }
}

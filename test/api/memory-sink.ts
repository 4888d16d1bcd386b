/** A sink in memory that records how it was written to. */
import type { ByteSink } from "../../src/api/download.ts";

export class MemorySink implements ByteSink {
  #chunks: Uint8Array[] = [];
  restarts = 0;
  /** Number of bytes written so far. Includes bytes that a restart discarded. */
  writtenBytes = 0;

  get size(): number {
    return this.#chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#chunks.push(Uint8Array.from(chunk));
    this.writtenBytes += chunk.byteLength;
  }

  async restart(): Promise<void> {
    this.#chunks = [];
    this.restarts += 1;
  }
}

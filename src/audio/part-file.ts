/** Reads parts through a window of fixed size, however long they are. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { OutputFormat } from "../contract/audio-format.ts";
import { DamagedPartError } from "./part-errors.ts";

/** Maximum number of bytes that {@link PartFile.readBytes} returns at once. */
export const WINDOW_BYTES = 256 * 1024;

/**
 * Opens each part in turn, passes it to `use`, and closes it. All parts share one window.
 *
 * @param parts in the order in which errors number them
 * @returns the results of `use`, in the order of the parts
 * @throws DamagedPartError if a part is not a regular file or cannot be read
 * @throws the reason of the signal, if the signal is aborted
 */
export async function mapParts<Part extends { readonly path: string }, T>(
  format: OutputFormat,
  parts: readonly Part[],
  signal: AbortSignal | undefined,
  use: (file: PartFile, part: Part) => Promise<T>,
): Promise<T[]> {
  const window = Buffer.alloc(WINDOW_BYTES);
  const results: T[] = [];
  for (const [partIndex, part] of parts.entries()) {
    signal?.throwIfAborted();
    const context: PartContext = { partIndex, format, signal };
    // Open without blocking, because opening a named pipe would otherwise wait for a writer.
    const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
    const handle = await open(part.path, flags).catch((error: unknown) => {
      throw unreadableError(context, error);
    });
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new DamagedPartError(partIndex, format, "it is not a regular file");
      results.push(await use(new PartFile(context, handle, stats.size, window), part));
    } finally {
      await handle.close();
    }
  }
  return results;
}

interface PartContext {
  readonly partIndex: number;
  readonly format: OutputFormat;
  readonly signal: AbortSignal | undefined;
}

/** One open part. */
export class PartFile {
  readonly sizeBytes: number;
  readonly #context: PartContext;
  readonly #handle: FileHandle;
  /** The bytes of the file from `#start` to `#end`. */
  readonly #window: Buffer;
  #start = 0;
  #end = 0;

  constructor(context: PartContext, handle: FileHandle, sizeBytes: number, window: Buffer) {
    this.#context = context;
    this.#handle = handle;
    this.sizeBytes = sizeBytes;
    this.#window = window;
  }

  /** Creates the error for damage of this part. */
  damagedPartError(why: string): DamagedPartError {
    return new DamagedPartError(this.#context.partIndex, this.#context.format, why);
  }

  /**
   * Returns `length` bytes from `position`, or as many as the file has. The next call may overwrite them.
   *
   * @param length at most {@link WINDOW_BYTES}
   */
  async readBytes(position: number, length: number): Promise<Buffer> {
    const end = Math.min(position + length, this.sizeBytes);
    if (position >= end) return Buffer.alloc(0);
    if (position < this.#start || end > this.#end) await this.#fillFrom(position);
    if (end > this.#end) throw this.damagedPartError("it became shorter while it was read");
    return this.#window.subarray(position - this.#start, end - this.#start);
  }

  /** Moves the window so that it begins at `position`. */
  async #fillFrom(position: number): Promise<void> {
    this.#context.signal?.throwIfAborted();
    this.#start = position;
    this.#end = position;
    const wantedBytes = Math.min(this.#window.byteLength, this.sizeBytes - position);
    while (this.#end < position + wantedBytes) {
      const offset = this.#end - position;
      const { bytesRead } = await this.#handle
        .read(this.#window, offset, wantedBytes - offset, this.#end)
        .catch((error: unknown) => {
          throw unreadableError(this.#context, error);
        });
      if (bytesRead === 0) return;
      this.#end += bytesRead;
    }
  }
}

function unreadableError({ partIndex, format }: PartContext, error: unknown): DamagedPartError {
  const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
  return new DamagedPartError(partIndex, format, `its file cannot be read${code}`, error);
}

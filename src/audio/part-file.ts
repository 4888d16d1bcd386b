/** Reads parts through a window of fixed size, however long they are. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { OutputFormat } from "../contract/audio-format.ts";
import { DamagedPartError } from "./part-errors.ts";

/** Maximum number of bytes that {@link PartFile.readBytes} returns at once. */
export const WINDOW_BYTES = 256 * 1024;

/** The parts of one join. They are opened one at a time, and share one buffer. */
export class PartFiles {
  readonly #format: OutputFormat;
  readonly #paths: readonly string[];
  readonly #signal: AbortSignal | undefined;
  readonly #window = new Uint8Array(WINDOW_BYTES);

  /** @param paths paths of the parts, in the order in which errors number them */
  constructor(format: OutputFormat, paths: readonly string[], signal: AbortSignal | undefined) {
    this.#format = format;
    this.#paths = paths;
    this.#signal = signal;
  }

  /**
   * Opens each part in turn, passes it to `use`, and closes it.
   *
   * @returns the results of `use`, in the order of the parts
   * @throws DamagedPartError if a part is not a regular file or cannot be read
   */
  async mapParts<T>(use: (file: PartFile, partIndex: number) => Promise<T>): Promise<T[]> {
    const items: T[] = [];
    for (const [partIndex, path] of this.#paths.entries()) {
      this.#signal?.throwIfAborted();
      items.push(await this.#with(partIndex, path, use));
    }
    return items;
  }

  async #with<T>(
    partIndex: number,
    path: string,
    use: (file: PartFile, partIndex: number) => Promise<T>,
  ): Promise<T> {
    const context: PartContext = { partIndex, format: this.#format, signal: this.#signal };
    // Open without blocking, because opening a named pipe would otherwise wait for a writer.
    const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
    const handle = await open(path, flags).catch((error: unknown) => {
      throw unreadableError(context, error);
    });
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new DamagedPartError(partIndex, this.#format, "it is not a regular file");
      return await use(new PartFile(context, handle, stats.size, this.#window), partIndex);
    } finally {
      await handle.close();
    }
  }
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
  readonly #buffer: Uint8Array;
  #start = 0;
  #end = 0;

  constructor(context: PartContext, handle: FileHandle, sizeBytes: number, window: Uint8Array) {
    this.#context = context;
    this.#handle = handle;
    this.sizeBytes = sizeBytes;
    this.#buffer = window;
  }

  /** Creates the error for damage of this part. */
  damagedPartError(why: string): DamagedPartError {
    return new DamagedPartError(this.#context.partIndex, this.#context.format, why);
  }

  /** Synchronous form of {@link readBytes}. Returns undefined if the bytes must first be read from the disk. */
  getBufferedBytes(position: number, length: number): Uint8Array | undefined {
    const end = Math.min(position + length, this.sizeBytes);
    if (position < this.#start || end > this.#end) return undefined;
    return this.#buffer.subarray(position - this.#start, Math.max(position, end) - this.#start);
  }

  /**
   * Returns `length` bytes from `position`, or as many as the file has. The next call may overwrite them.
   *
   * @param length at most {@link WINDOW_BYTES}
   */
  async readBytes(position: number, length: number): Promise<Uint8Array> {
    if (position >= this.sizeBytes) return this.#buffer.subarray(0, 0);
    const buffered = this.getBufferedBytes(position, length);
    if (buffered !== undefined) return buffered;
    await this.#fillFrom(position);
    const filled = this.getBufferedBytes(position, length);
    if (filled === undefined) throw this.damagedPartError("it became shorter while it was read");
    return filled;
  }

  /** Moves the window so that it begins at `position`. */
  async #fillFrom(position: number): Promise<void> {
    this.#context.signal?.throwIfAborted();
    this.#start = position;
    this.#end = position;
    const wantedBytes = Math.min(this.#buffer.byteLength, this.sizeBytes - position);
    while (this.#end < position + wantedBytes) {
      const offset = this.#end - position;
      const { bytesRead } = await this.#handle
        .read(this.#buffer, offset, wantedBytes - offset, this.#end)
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

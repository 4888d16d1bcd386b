/** The finished audio on disk, one file a task. */
import { chmod, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";

const PART_ENDING = ".part";

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export class AudioShelf {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens (or makes) the folder, for its owner alone, and clears away what a killed sandbox left half-written. */
  static async open(stateFolder: string): Promise<AudioShelf> {
    const folder = join(stateFolder, "audio");
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    const parts = (await readdir(folder)).filter((name) => name.endsWith(PART_ENDING));
    await Promise.all(parts.map((name) => rm(join(folder, name), { force: true })));
    return new AudioShelf(folder);
  }

  /** Stores a task's audio whole: it is on disk under its name, or not there at all. Replaces an earlier try. */
  async store(taskId: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(taskId);
    const part = `${path}${PART_ENDING}`;
    const file = await open(part, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  }

  /** A stream of the bytes of `range`; the file is open before it is returned, so that a missing one throws here. */
  async read(taskId: string, range: ByteRange): Promise<Readable> {
    const file = await open(this.#path(taskId), "r");
    return file.createReadStream({ start: range.start, end: range.end });
  }

  /** Task ids reach here from the store alone, never from a request. */
  #path(taskId: string): string {
    return join(this.#folder, taskId);
  }
}

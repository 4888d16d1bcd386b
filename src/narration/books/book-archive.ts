/** Unpacks files of an EPUB's archive in memory, with bounds that hold whatever the archive says of itself. */
import { unzipSync } from "fflate";
import { AudioError } from "../../errors.ts";

const MAX_ENTRIES = 20_000;
const MAX_UNPACKED_BYTES = 200 * 1024 * 1024;
const SHOWN_UNITS = 120;

/** @param rule what is wrong, as the end of a sentence about the book */
export function refuseBook(rule: string, cause?: unknown): AudioError {
  return new AudioError("invalid_request", `The EPUB ${rule}. Nothing was sent.`, { cause });
}

export const shownName = (name: string): string => JSON.stringify(name.slice(0, SHOWN_UNITS).toWellFormed());

/** Files by their paths in the archive. */
export class BookArchive {
  readonly #bytes: Uint8Array;
  /** Unpacked sizes, as the archive states them. */
  readonly #sizes = new Map<string, number>();
  #unpackedBytes = 0;

  /** @throws AudioError `invalid_request` for what is no archive, or has too many entries */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    let count = 0;
    this.#unzip(({ name, originalSize }) => {
      count += 1;
      if (count > MAX_ENTRIES) throw refuseBook(`holds more than ${MAX_ENTRIES} files`);
      this.#sizes.set(name, originalSize);
      return false;
    });
  }

  has(name: string): boolean {
    return this.#sizes.has(name);
  }

  /**
   * The files of these names that are there. More than their stated size is never unpacked.
   *
   * @throws AudioError `invalid_request` past 200 MiB in all, or where a file cannot be unpacked
   */
  read(names: ReadonlySet<string>): ReadonlyMap<string, Uint8Array> {
    for (const name of names) this.#unpackedBytes += this.#sizes.get(name) ?? 0;
    if (this.#unpackedBytes > MAX_UNPACKED_BYTES) {
      throw refuseBook(`unpacks to more than ${MAX_UNPACKED_BYTES / 1024 / 1024} MiB of text`);
    }
    return new Map(Object.entries(this.#unzip(({ name }) => names.has(name))));
  }

  #unzip(
    filter: (file: { readonly name: string; readonly originalSize: number }) => boolean,
  ): Record<string, Uint8Array> {
    try {
      return unzipSync(this.#bytes, { filter });
    } catch (error) {
      if (error instanceof AudioError) throw error;
      throw refuseBook("cannot be unpacked: its archive is damaged, encrypted, or of another kind", error);
    }
  }
}

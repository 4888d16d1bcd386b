/** Unpacks files of an EPUB in memory. The size limits hold even if the archive states wrong sizes. */
import { crc32, inflateRawSync } from "node:zlib";
import { AudioError } from "../../errors.ts";

const MIB = 1024 * 1024;
const MAX_UNPACKED_BYTES = 200 * MIB;
const MAX_ENTRIES = 3000;

const END_SIGNATURE = 0x06_05_4b_50;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xff_ff;
const ENTRY_SIGNATURE = 0x02_01_4b_50;
const ENTRY_BYTES = 46;
const LOCAL_SIGNATURE = 0x04_03_4b_50;
const LOCAL_BYTES = 30;
const METHOD_STORED = 0;
const METHOD_DEFLATED = 8;
const ENCRYPTED_FLAG = 1;

/**
 * Creates the error for a book that is refused.
 *
 * @param rule what is wrong, as the end of a sentence that begins with "The EPUB"
 */
export function refusedBookError(rule: string, cause?: unknown): AudioError {
  return new AudioError("invalid_request", `The EPUB ${rule}. Nothing was sent.`, {
    cause,
    remedy: {
      assistant:
        "No change of the call can repair the file: tell the user, who may have another copy or format of the book.",
      terminal: "Another copy of the book may be whole, or another format of it.",
    },
  });
}

const SHOWN_CODE_UNITS = 120;
/** Returns the first 120 code units of a file's name as a JSON string, to be quoted in an error message. */
export const shortenName = (name: string): string =>
  JSON.stringify(name.slice(0, SHOWN_CODE_UNITS).toWellFormed());

interface Entry {
  readonly method: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly unpackedBytes: number;
  readonly headerOffset: number;
}

const damagedBookError = (cause?: unknown): AudioError =>
  refusedBookError("is damaged: its ZIP archive cannot be unpacked", cause);

/**
 * Refuses names that lead out of the archive. No file is written to a disk, but a name of this kind is a sign of a
 * hostile archive.
 */
function assertArchivePath(name: string): void {
  const isOutside = name.startsWith("/") || /^[A-Za-z]:/.test(name) || name.split("/").includes("..");
  if (isOutside) throw refusedBookError(`holds a file whose name leads out of it (${shortenName(name)})`);
}

/**
 * Reads files from the ZIP archive of an EPUB. Keeps the whole archive in memory, and unpacks a file each time it is
 * read. All reads together may unpack at most 200 MiB.
 */
export class BookArchive {
  readonly #bytes: Buffer;
  readonly #entries = new Map<string, Entry>();
  #leftBytes = MAX_UNPACKED_BYTES;

  /**
   * @throws AudioError `invalid_request` if the bytes are not a readable archive, or the archive holds too many files
   */
  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const end = this.#findDirectoryEnd();
    const count = this.#bytes.readUInt16LE(end + 10);
    if (count > MAX_ENTRIES)
      throw refusedBookError(`holds ${count} files, and at most ${MAX_ENTRIES} are read`);
    let entryOffset = this.#bytes.readUInt32LE(end + 16);
    for (let index = 0; index < count; index += 1) entryOffset = this.#readEntry(entryOffset);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /**
   * Reads one file; `null` if no file has that name.
   *
   * @throws AudioError `invalid_request` if the file is damaged, or if the files read so far are too large in total
   */
  read(name: string): Uint8Array | null {
    const entry = this.#entries.get(name);
    if (entry === undefined) return null;
    const content = this.#unpack(entry);
    this.#leftBytes -= content.byteLength;
    if (content.byteLength !== entry.unpackedBytes || crc32(content) !== entry.crc) throw damagedBookError();
    return content;
  }

  #unpack({ headerOffset, method, packedBytes, unpackedBytes }: Entry): Buffer {
    if (unpackedBytes > this.#leftBytes)
      throw refusedBookError(
        `is larger than ${MAX_UNPACKED_BYTES / MIB} MiB when it is unpacked, the most that is read`,
      );
    const start = this.#findContentOffset(headerOffset);
    if (start + packedBytes > this.#bytes.byteLength) throw damagedBookError();
    const packed = this.#bytes.subarray(start, start + packedBytes);
    if (method === METHOD_STORED) return packed;
    if (method !== METHOD_DEFLATED) throw refusedBookError("is packed in a way that is not read");
    try {
      // Allow one byte more than announced. An extra byte reveals that the announced size is wrong.
      return inflateRawSync(packed, { maxOutputLength: unpackedBytes + 1 });
    } catch (error) {
      throw damagedBookError(error);
    }
  }

  #findContentOffset(headerOffset: number): number {
    if (
      headerOffset + LOCAL_BYTES > this.#bytes.byteLength ||
      this.#bytes.readUInt32LE(headerOffset) !== LOCAL_SIGNATURE
    ) {
      throw damagedBookError();
    }
    return (
      headerOffset +
      LOCAL_BYTES +
      this.#bytes.readUInt16LE(headerOffset + 26) +
      this.#bytes.readUInt16LE(headerOffset + 28)
    );
  }

  #findDirectoryEnd(): number {
    const last = this.#bytes.byteLength - END_BYTES;
    for (let offset = last; offset >= Math.max(0, last - MAX_COMMENT_BYTES); offset -= 1) {
      if (this.#bytes.readUInt32LE(offset) === END_SIGNATURE) return offset;
    }
    throw refusedBookError("is damaged, or no EPUB: its ZIP archive has no end");
  }

  /**
   * Reads one entry of the directory.
   *
   * @returns the offset of the next entry
   */
  #readEntry(entryOffset: number): number {
    const bytes = this.#bytes;
    if (entryOffset + ENTRY_BYTES > bytes.byteLength || bytes.readUInt32LE(entryOffset) !== ENTRY_SIGNATURE)
      throw damagedBookError();
    const nameBytes = bytes.readUInt16LE(entryOffset + 28);
    const endOfName = entryOffset + ENTRY_BYTES + nameBytes;
    const next = endOfName + bytes.readUInt16LE(entryOffset + 30) + bytes.readUInt16LE(entryOffset + 32);
    if (next > bytes.byteLength) throw damagedBookError();
    const writtenName = bytes.toString("utf8", entryOffset + ENTRY_BYTES, endOfName).replaceAll("\\", "/");
    // A folder holds no text, and no file is written to a disk.
    if (writtenName.endsWith("/")) return next;
    assertArchivePath(writtenName);
    // Some programs write names such as `OPS/./one.xhtml` and `OPS\one.xhtml`.
    const name = writtenName.replace(/(?<=^|\/)\.?\//g, "");
    if ((bytes.readUInt16LE(entryOffset + 8) & ENCRYPTED_FLAG) !== 0) {
      throw refusedBookError("is encrypted with a password, and is not read");
    }
    if (this.#entries.has(name)) {
      throw refusedBookError(`holds two files named ${shortenName(name)}, so nobody knows which is meant`);
    }
    this.#entries.set(name, {
      method: bytes.readUInt16LE(entryOffset + 10),
      crc: bytes.readUInt32LE(entryOffset + 16),
      packedBytes: bytes.readUInt32LE(entryOffset + 20),
      unpackedBytes: bytes.readUInt32LE(entryOffset + 24),
      headerOffset: bytes.readUInt32LE(entryOffset + 42),
    });
    return next;
  }
}

/** Reads a file through the host, piece by piece, and keeps the most recently used pieces. */
import { concatBytes } from "./concat-bytes.ts";
import { FileGoneError, HostError, requestHost } from "./host.ts";
import { parseEntries, parseFields, parseText } from "./parse-fields.ts";

/** Maximum number of bytes that the server returns for one read. */
const PIECE_BYTES = 512 * 1024;

/** Maximum number of pieces to keep, which bounds the memory for a long narration. */
const MAX_KEPT = 8;

const MAX_BASE64 = Math.ceil(PIECE_BYTES / 3) * 4;

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index += 1) bytes[index] = letters.charCodeAt(index);
  return bytes;
}

interface ReadPiece {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mimeType: string;
}

async function readFromHost(uri: string, offset: number, length: number): Promise<ReadPiece> {
  const answer = await requestHost("resources/read", { uri: `${uri}?offset=${offset}&length=${length}` });
  const { blob, mimeType } = parseFields(parseEntries(answer["contents"])[0]);
  if (typeof blob !== "string" || blob.length > MAX_BASE64) {
    throw new HostError("The chat returned no audio.");
  }
  try {
    return { bytes: decode(blob), mimeType: parseText(mimeType, 100) };
  } catch {
    throw new HostError("The chat returned no audio.");
  }
}

export interface PieceLoader {
  readonly sizeBytes: number;
  /**
   * Reads `length` bytes from `start`, or fewer at the end of the file.
   *
   * @throws HostError
   */
  read(start: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Reads a file in pieces.
 *
 * @param sizeBytes the file's size as the tool stated it; a piece whose length contradicts this size is an error
 */
export function createPieceLoader(uri: string, sizeBytes: number): PieceLoader {
  const cache = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();

  const loadPiece = (index: number): Promise<Uint8Array<ArrayBuffer>> => {
    const keptPiece = cache.get(index);
    const offset = index * PIECE_BYTES;
    const length = Math.min(PIECE_BYTES, sizeBytes - offset);
    const reading =
      keptPiece ??
      readFromHost(uri, offset, length).then(({ bytes }) => {
        if (bytes.length === length) return bytes;
        throw new FileGoneError();
      });
    // Move the piece to the end of the map, so that the least recently used piece comes first.
    cache.delete(index);
    cache.set(index, reading);
    reading.catch(() => cache.delete(index));
    const [oldest] = cache.keys();
    if (cache.size > MAX_KEPT && oldest !== undefined) cache.delete(oldest);
    return reading;
  };

  return {
    sizeBytes,
    async read(start, length) {
      const end = Math.min(start + length, sizeBytes);
      const bytes = new Uint8Array(Math.max(0, end - start));
      const [first, last] = [Math.floor(start / PIECE_BYTES), Math.floor((end - 1) / PIECE_BYTES)];
      // Request two pieces at a time, so that the second arrives while the first is decoded.
      for (let index = first; index <= last; index += 1) {
        const ahead = index < last ? loadPiece(index + 1) : undefined;
        const wholePiece = await loadPiece(index);
        await ahead;
        const offset = index * PIECE_BYTES;
        const wantedBytes = wholePiece.subarray(Math.max(0, start - offset), end - offset);
        bytes.set(wantedBytes, Math.max(0, offset - start));
      }
      return bytes;
    },
  };
}

/** Reads the table of a narration's parts; returns an empty text if there is none. */
export async function readPartsTable(uri: string): Promise<string> {
  const answer = await requestHost("resources/read", { uri });
  const { text } = parseFields(parseEntries(answer["contents"])[0]);
  return typeof text === "string" ? text.slice(0, 2_000_000) : "";
}

/** Maximum number of pieces of a file of unknown size. The captions of a book need fewer, and so does a part. */
const MAX_PIECES = 64;

/**
 * Reads a file whose size is unknown.
 *
 * @throws HostError
 */
export async function readWholeFile(uri: string): Promise<ReadPiece> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const { bytes, mimeType } = await readFromHost(uri, pieces.length * PIECE_BYTES, PIECE_BYTES);
    pieces.push(bytes);
    if (bytes.length < PIECE_BYTES || pieces.length === MAX_PIECES)
      return { bytes: concatBytes(...pieces), mimeType };
  }
}

/** Reads captions or chapters; returns an empty text if there are none. */
export const readTextFile = (uri: string): Promise<string> =>
  readWholeFile(uri).then(
    ({ bytes }) => new TextDecoder().decode(bytes),
    () => "",
  );

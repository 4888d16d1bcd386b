/** Asks the host for a file's bytes, piece by piece, and keeps the last of them. */
import { ask, GoneError, HostError } from "./host.ts";
import { entries, fields } from "./received.ts";

/** The most bytes that the server returns for one read. */
const PIECE_BYTES = 512 * 1024;

/** Bounds the memory for a long narration. */
const MAX_KEPT = 8;

const MAX_BASE64 = Math.ceil(PIECE_BYTES / 3) * 4;

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

async function ofHost(uri: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await ask("resources/read", { uri: `${uri}?offset=${offset}&length=${length}` });
  const { blob } = fields(entries(answer["contents"])[0]);
  if (typeof blob !== "string" || blob.length > MAX_BASE64) {
    throw new HostError("The chat handed over no sound.");
  }
  try {
    return decode(blob);
  } catch {
    throw new HostError("The chat handed over no sound.");
  }
}

export interface Pieces {
  readonly sizeBytes: number;
  /** Reads bytes from `start` on; fewer at the end of the file. @throws HostError */
  read(start: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** @param sizeBytes as the tool stated it; a file that turns out to have another size is refused */
export function piecesOf(uri: string, sizeBytes: number): Pieces {
  const kept = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();

  const piece = (index: number): Promise<Uint8Array<ArrayBuffer>> => {
    const known = kept.get(index);
    const offset = index * PIECE_BYTES;
    const length = Math.min(PIECE_BYTES, sizeBytes - offset);
    const reading =
      known ??
      ofHost(uri, offset, length).then((bytes) => {
        if (bytes.length === length) return bytes;
        throw new GoneError();
      });
    // Keeps the pieces that were used last.
    kept.delete(index);
    kept.set(index, reading);
    reading.catch(() => kept.delete(index));
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    return reading;
  };

  return {
    sizeBytes,
    async read(start, length) {
      const end = Math.min(start + length, sizeBytes);
      const bytes = new Uint8Array(Math.max(0, end - start));
      const [first, last] = [Math.floor(start / PIECE_BYTES), Math.floor((end - 1) / PIECE_BYTES)];
      // Reads two at a time, so that one arrives while the other is decoded.
      for (let index = first; index <= last; index += 1) {
        const ahead = index < last ? piece(index + 1) : undefined;
        const whole = await piece(index);
        await ahead;
        const offset = index * PIECE_BYTES;
        const part = whole.subarray(Math.max(0, start - offset), end - offset);
        bytes.set(part, Math.max(0, offset - start));
      }
      return bytes;
    },
  };
}

/** Reads the table of parts; empty if there is none. */
export async function readTable(uri: string): Promise<string> {
  const answer = await ask("resources/read", { uri });
  const { text } = fields(entries(answer["contents"])[0]);
  return typeof text === "string" ? text.slice(0, 2_000_000) : "";
}

/** More captions than a book has. */
const MAX_TEXT_PIECES = 8;

/** Reads captions or chapters, whose size is unknown; empty if there are none. */
export async function readPieces(uri: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let index = 0; index < MAX_TEXT_PIECES; index += 1) {
      const bytes = await ofHost(uri, index * PIECE_BYTES, PIECE_BYTES);
      text += decoder.decode(bytes, { stream: true });
      if (bytes.length < PIECE_BYTES) break;
    }
  } catch {
    return "";
  }
  return text;
}

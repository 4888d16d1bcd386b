/** Decodes text strictly: guesses no encoding, and refuses bytes that are not text before anybody pays for them. */
import { AudioError, askUser, type Wording } from "../errors.ts";

/** Maximum size of a text file: about five novels, which is enough for any text and fits into memory. */
export const MAX_TEXT_FILE_BYTES = 8 * 1024 * 1024;

/**
 * Builds the error for a refused input. `name` and `rule` form its first sentence, for example "notes.txt is empty."
 */
export function refusedInputError(name: string, rule: string, remedy?: Wording): AudioError {
  return new AudioError("invalid_request", `${name} ${rule}. Nothing was sent.`, { remedy });
}

/** Builds the `invalid_request` error for an input of more than `maxBytes` bytes. The message begins with `name`. */
export function tooLongError(name: string, maxBytes: number): AudioError {
  return refusedInputError(name, `is larger than ${maxBytes / 1024 / 1024} MiB, the most that is read`);
}

/**
 * Reads a stream to its end, up to a limit.
 *
 * @param stream the bytes of a file, a pipe or standard input
 * @param name the name of the input, with which error messages begin
 * @throws AudioError `invalid_request` if the stream exceeds the limit
 */
export async function readStream(
  stream: AsyncIterable<unknown>,
  name: string,
  maxBytes = MAX_TEXT_FILE_BYTES,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError("a stream of bytes was expected");
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) throw tooLongError(name, maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, sizeBytes);
}

const SAVE_AS_UTF8 = askUser("save the file as UTF-8", ", or give the text itself");

/** Detects UTF-16 by its byte order mark. All other text must be UTF-8. */
function detectEncoding(bytes: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
}

/** Matches a kana in Shift JIS, which is a pair of bytes. Texts in other encodings rarely contain such pairs. */
const SHIFT_JIS_KANA = /[\x82\x83][\x40-\xf1]/g;
const KANA_SHARE = 0.2;
/** Matches an accented letter in Latin-1 that follows an ASCII letter. */
const LATIN_LETTER = /(?<=[A-Za-z])[\xc0-\xff](?=[\sA-Za-z.,;:!?]|$)/g;
const LATIN_SHARE = 0.7;

/** Returns the probable encoding of bytes that are not UTF-8; `null` if too few bytes are typical of one encoding. */
function guessEncoding(bytes: Uint8Array): string | null {
  const text = Buffer.from(bytes).toString("latin1");
  const high = text.match(/[\x80-\xff]/g)?.length ?? 0;
  if ((text.match(SHIFT_JIS_KANA)?.length ?? 0) >= KANA_SHARE * high) {
    try {
      new TextDecoder("shift_jis", { fatal: true }).decode(bytes);
      return "Shift-JIS";
    } catch {
      return null;
    }
  }
  return (text.match(LATIN_LETTER)?.length ?? 0) >= LATIN_SHARE * high ? "Latin-1" : null;
}

/**
 * Decodes bytes to text, without the byte order mark.
 *
 * @throws AudioError `invalid_request` for empty input, for bytes that are invalid in their encoding, and for a
 *   NUL character
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  if (bytes.byteLength === 0) throw refusedInputError(name, "is empty");
  const encoding = detectEncoding(bytes);
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (encoding !== "utf-8") {
      throw refusedInputError(name, "is not valid UTF-16, which its byte order mark promises", SAVE_AS_UTF8);
    }
    const probable = guessEncoding(bytes);
    if (probable === null) throw refusedInputError(name, "is not text in UTF-8", SAVE_AS_UTF8);
    throw refusedInputError(
      name,
      `is not text in UTF-8; it seems to be in ${probable}`,
      askUser(`open the file as ${probable} and to save it as UTF-8`, ", or give the text itself"),
    );
  }
  if (!text.includes("\0")) return text;
  throw refusedInputError(
    name,
    "holds NUL characters, so it is not text (or UTF-16 without its byte order mark)",
  );
}

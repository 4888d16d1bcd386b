/** Defines the output formats: names, sample rates, MIME types, file extensions and signatures. */

export const OUTPUT_FORMATS = ["mp3", "wav", "pcm", "ogg_opus"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const SAMPLE_RATES = [8000, 16000, 24000, 32000, 44100, 48000] as const;
export type SampleRate = (typeof SAMPLE_RATES)[number];

export const MIME_TYPES: Readonly<Record<OutputFormat, string>> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  pcm: "application/octet-stream",
  ogg_opus: "audio/ogg",
};

export const FILE_EXTENSIONS: Readonly<Record<OutputFormat, string>> = {
  mp3: ".mp3",
  wav: ".wav",
  pcm: ".pcm",
  ogg_opus: ".ogg",
};

/** Returns the MIME type of a file by its extension. */
export function mimeTypeForPath(path: string): string {
  const format = OUTPUT_FORMATS.find((candidate) => path.endsWith(FILE_EXTENSIONS[candidate]));
  return format === undefined ? "application/octet-stream" : MIME_TYPES[format];
}

/** The formats that begin with a signature. */
export const SIGNED_FORMATS = ["mp3", "wav", "ogg_opus"] as const satisfies readonly OutputFormat[];

/** Number of leading bytes that {@link looksLikeFormat} and {@link looksLikePage} need. */
export const MAGIC_BYTES = 64;

const readAscii = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));

/** Matches the beginning of HTML, XML or JSON, without control characters. Bytes are read as Latin-1. */
const PAGE = /^(?:\xef\xbb\xbf)?[\t\n\r ]*(?:<[!?a-z]|\{\s*["}]|\[\s*["{[\]])[\t\n\r\x20-\xff]*$/i;
/** Matches plain text that is long enough not to be samples. */
const PLAIN_TEXT = /^[\t\n\r\x20-\x7e]{16,}$/;

/**
 * Whether bytes are a page or a message, which a proxy sends in place of audio.
 *
 * @param head the first {@link MAGIC_BYTES} bytes, or all bytes of a shorter body
 */
export const looksLikePage = (head: Uint8Array): boolean => PAGE.test(readAscii(head, 0, head.length));

/**
 * Returns the format that audio begins with, whatever was asked for; `null` if it is unknown. Two bytes of an mp3 frame
 * may be chance, so the rest of its header must make sense, too.
 */
export function recognizeFormat(head: Uint8Array): OutputFormat | null {
  const format = SIGNED_FORMATS.find((each) => looksLikeFormat(each, head)) ?? null;
  const [first, second = 0, third = 0] = head;
  const isFrame = first === 0xff;
  const isLayer3 = (second & 0x06) === 0x02 && (third & 0xf0) !== 0xf0 && (third & 0x0c) !== 0x0c;
  return format === "mp3" && isFrame && !isLayer3 ? null : format;
}

/**
 * Returns whether audio begins like its stated format. Raw pcm has no signature: it is whatever is no text.
 *
 * @param head the first {@link MAGIC_BYTES} bytes of the audio, or all bytes of shorter audio
 */
export function looksLikeFormat(format: OutputFormat, head: Uint8Array): boolean {
  switch (format) {
    case "mp3": {
      const [first = 0, second = 0] = head;
      return readAscii(head, 0, 3) === "ID3" || (first === 0xff && (second & 0xe0) === 0xe0);
    }
    case "wav":
      // A file begins with RF64 if it is too long for the 32-bit lengths of RIFF.
      return ["RIFF", "RF64"].includes(readAscii(head, 0, 4)) && readAscii(head, 8, 12) === "WAVE";
    case "ogg_opus":
      return readAscii(head, 0, 4) === "OggS";
    case "pcm":
      return !PLAIN_TEXT.test(readAscii(head, 0, head.length));
  }
}

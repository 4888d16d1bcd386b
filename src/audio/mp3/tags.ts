/** Finds the audio of an mp3 file between the tags at its beginning and end. */
import type { PartFile } from "../part-file.ts";

/** Maximum number of tags to skip at each end. No program writes that many. */
const MAX_TAGS = 100;

const ID3V2_BYTES = 10;
const ID3V2_HAS_FOOTER = 0x10;
const ID3V1_BYTES = 128;
const ID3V1_EXTENDED_BYTES = 227;
const APE_BYTES = 32;
const APE_SIZE_OFFSET = 12;
const APE_FLAGS_OFFSET = 20;
const APE_HAS_HEADER = 0x80000000;

export interface ByteRange {
  readonly start: number;
  /** Offset of the first byte after the range. */
  readonly end: number;
}

/** Reads a number of four bytes with seven bits each; returns undefined if a byte uses its eighth bit. */
function readSyncsafe(bytes: Uint8Array, offset: number): number | undefined {
  let value = 0;
  for (const byte of bytes.subarray(offset, offset + 4)) {
    if (byte > 0x7f) return undefined;
    value = value * 128 + byte;
  }
  return value;
}

/** Returns the length of the tag that begins at the first of these bytes, or 0 if no tag begins there. */
function measureLeadingTags(head: Buffer): number {
  if (head.byteLength >= ID3V2_BYTES && head.toString("latin1", 0, 3) === "ID3") {
    const size = readSyncsafe(head, 6);
    if (size === undefined) return 0;
    const footer = ((head[5] ?? 0) & ID3V2_HAS_FOOTER) === 0 ? 0 : ID3V2_BYTES;
    return ID3V2_BYTES + size + footer;
  }
  if (head.byteLength >= APE_BYTES && head.toString("latin1", 0, 8) === "APETAGEX") {
    return APE_BYTES + head.readUInt32LE(APE_SIZE_OFFSET);
  }
  return 0;
}

/** Returns the length of the tag that ends at the last of these bytes, or 0 if no tag ends there. */
function measureTrailingTags(tail: Buffer): number {
  const endsWith = (mark: string, distance: number): boolean =>
    tail.byteLength >= distance && tail.subarray(-distance).toString("latin1").startsWith(mark);
  if (endsWith("TAG", ID3V1_BYTES)) {
    const both = ID3V1_BYTES + ID3V1_EXTENDED_BYTES;
    return endsWith("TAG+", both) ? both : ID3V1_BYTES;
  }
  if (endsWith("APETAGEX", APE_BYTES)) {
    const footer = tail.subarray(-APE_BYTES);
    const hasHeader = (footer.readUInt32LE(APE_FLAGS_OFFSET) & APE_HAS_HEADER) !== 0;
    return footer.readUInt32LE(APE_SIZE_OFFSET) + (hasHeader ? APE_BYTES : 0);
  }
  if (endsWith("3DI", ID3V2_BYTES)) {
    const size = readSyncsafe(tail, tail.byteLength - 4);
    return size === undefined ? 0 : size + 2 * ID3V2_BYTES;
  }
  // A Lyrics3 tag ends with its size in six digits and a mark.
  const lyrics = /(\d{6})LYRICS200$/.exec(tail.toString("latin1"))?.[0];
  return lyrics === undefined ? 0 : Number.parseInt(lyrics, 10) + lyrics.length;
}

/**
 * Returns the range of the audio. Skips ID3v2 and APE tags at the beginning, and ID3v1, APE, Lyrics3 and appended ID3v2
 * tags at the end. If a leading tag claims to be longer than the rest of the file, the range is empty. A trailing tag
 * that claims to be longer than the remaining range is ignored.
 */
export async function findAudioRange(file: PartFile): Promise<ByteRange> {
  let start = 0;
  for (let count = 0; count < MAX_TAGS && start < file.sizeBytes; count += 1) {
    const bytes = measureLeadingTags(await file.readBytes(start, APE_BYTES));
    if (bytes === 0) break;
    start = Math.min(start + bytes, file.sizeBytes);
  }
  let end = file.sizeBytes;
  for (let count = 0; count < MAX_TAGS && end > start; count += 1) {
    const tailBytes = Math.min(end - start, ID3V1_BYTES + ID3V1_EXTENDED_BYTES);
    const bytes = measureTrailingTags(await file.readBytes(end - tailBytes, tailBytes));
    if (bytes === 0 || bytes > end - start) break;
    end -= bytes;
  }
  return { start, end };
}

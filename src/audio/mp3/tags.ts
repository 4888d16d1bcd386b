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
const LYRICS_MARK_BYTES = 9;
const LYRICS_SIZE_BYTES = 6;

export interface ByteRange {
  readonly start: number;
  /** Offset of the first byte after the range. */
  readonly end: number;
}

const readTextAt = (bytes: Uint8Array, offset: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(offset, offset + length));
const toDataView = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

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
function measureLeadingTags(head: Uint8Array): number {
  if (head.byteLength >= ID3V2_BYTES && readTextAt(head, 0, 3) === "ID3") {
    const size = readSyncsafe(head, 6);
    if (size === undefined) return 0;
    const footer = ((head[5] ?? 0) & ID3V2_HAS_FOOTER) === 0 ? 0 : ID3V2_BYTES;
    return ID3V2_BYTES + size + footer;
  }
  if (head.byteLength >= APE_BYTES && readTextAt(head, 0, 8) === "APETAGEX") {
    return APE_BYTES + toDataView(head).getUint32(APE_SIZE_OFFSET, true);
  }
  return 0;
}

/** Returns the length of the tag that ends at the last of these bytes, or 0 if no tag ends there. */
function measureTrailingTags(tail: Uint8Array): number {
  const length = tail.byteLength;
  if (length >= ID3V1_BYTES && readTextAt(tail, length - ID3V1_BYTES, 3) === "TAG") {
    const extended = length - ID3V1_BYTES - ID3V1_EXTENDED_BYTES;
    return extended >= 0 && readTextAt(tail, extended, 4) === "TAG+"
      ? ID3V1_BYTES + ID3V1_EXTENDED_BYTES
      : ID3V1_BYTES;
  }
  if (length >= APE_BYTES && readTextAt(tail, length - APE_BYTES, 8) === "APETAGEX") {
    const footer = toDataView(tail.subarray(length - APE_BYTES));
    const hasHeader = (footer.getUint32(APE_FLAGS_OFFSET, true) & APE_HAS_HEADER) !== 0;
    return footer.getUint32(APE_SIZE_OFFSET, true) + (hasHeader ? APE_BYTES : 0);
  }
  if (length >= ID3V2_BYTES && readTextAt(tail, length - ID3V2_BYTES, 3) === "3DI") {
    const size = readSyncsafe(tail, length - 4);
    return size === undefined ? 0 : size + 2 * ID3V2_BYTES;
  }
  if (
    length >= LYRICS_MARK_BYTES &&
    readTextAt(tail, length - LYRICS_MARK_BYTES, LYRICS_MARK_BYTES) === "LYRICS200"
  ) {
    const size = readTextAt(tail, length - LYRICS_MARK_BYTES - LYRICS_SIZE_BYTES, LYRICS_SIZE_BYTES);
    return /^\d{6}$/.test(size) ? Number(size) + LYRICS_SIZE_BYTES + LYRICS_MARK_BYTES : 0;
  }
  return 0;
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

/** Reads and writes the information frame, which describes the file and contains no sound (Xing, Info, VBRI). */
import { type FrameHeader, HEADER_BYTES, MAX_BITRATE_INDEX, parseFrameHeaderAt } from "./frame-header.ts";
import type { Frame } from "./frames.ts";

const VBRI_OFFSET = 36;
const FRAME_COUNT = 0x1;
const BYTE_COUNT = 0x2;
const SEEK_TABLE = 0x4;
const QUALITY = 0x8;
const SEEK_TABLE_ENTRIES = 100;
/** Length of the tag: name, flags, number of frames, number of bytes, seek table. */
const TAG_BYTES = 4 + 4 + 4 + 4 + SEEK_TABLE_ENTRIES;
/** Distance in bytes from the encoder's name to the fields for delay and padding. The name follows the tag. */
const DELAY_OFFSET = 21;
const ENCODER_NAME = /^(?:LAME|Lavf|Lavc)/;
/**
 * Delay that every decoder adds. The delay lengthens the silence before the sound, and shortens the silence after the
 * sound by the same number of samples.
 */
const DECODER_DELAY_SAMPLES = 529;

/** Silence that encoder and decoder add around the sound of a part. */
export interface EncoderPadding {
  readonly leadingSamples: number;
  readonly trailingSamples: number;
}

/** The fields of an information frame. A field that the frame lacks is undefined. */
export interface InfoFrame {
  readonly frameCount: number | undefined;
  readonly encoderPadding: EncoderPadding | undefined;
}

const readTextAt = (bytes: Uint8Array, offset: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(offset, offset + length));

function parseTag(bytes: Uint8Array, offset: number): InfoFrame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (offset + 12 > bytes.byteLength) return { frameCount: undefined, encoderPadding: undefined };
  const flags = view.getUint32(offset + 4);
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const frames = has(FRAME_COUNT) ? view.getUint32(offset + 8) : undefined;
  const fields = [has(FRAME_COUNT), has(BYTE_COUNT), has(QUALITY)].filter(Boolean).length;
  const encoder = offset + 8 + 4 * fields + (has(SEEK_TABLE) ? SEEK_TABLE_ENTRIES : 0);
  const packed = encoder + DELAY_OFFSET;
  if (packed + 3 > bytes.byteLength || !ENCODER_NAME.test(readTextAt(bytes, encoder, 4))) {
    return { frameCount: frames, encoderPadding: undefined };
  }
  const delay = view.getUint16(packed) >> 4;
  const padding = view.getUint16(packed + 1) & 0xfff;
  return {
    frameCount: frames,
    encoderPadding: {
      leadingSamples: delay + DECODER_DELAY_SAMPLES,
      trailingSamples: Math.max(0, padding - DECODER_DELAY_SAMPLES),
    },
  };
}

/** Reads the information frame at the beginning of a file; returns undefined if the first frame is audio. */
export function parseInfoFrame({ header, bytes }: Frame): InfoFrame | undefined {
  // Look for the tag at two offsets, because only some programs move the tag if the frame has a checksum.
  for (const offset of [HEADER_BYTES + header.sideBytes, header.sideOffset + header.sideBytes]) {
    if (/^(?:Xing|Info)$/.test(readTextAt(bytes, offset, 4))) return parseTag(bytes, offset);
  }
  return readTextAt(bytes, VBRI_OFFSET, 4) === "VBRI"
    ? { frameCount: undefined, encoderPadding: undefined }
    : undefined;
}

/** Copies a header, but with the given bitrate, no checksum and no padding byte. */
function buildPlainHeader(templateHeader: Uint8Array, bitrateIndex: number): Uint8Array {
  const header = Uint8Array.from(templateHeader.subarray(0, HEADER_BYTES));
  header[1] = (header[1] ?? 0) | 0x01;
  header[2] = ((header[2] ?? 0) & 0x0d) | (bitrateIndex << 4);
  return header;
}

function buildEmptyFrame(
  templateHeader: Uint8Array,
  bitrateIndex: number,
): { bytes: Uint8Array; header: FrameHeader } {
  const head = buildPlainHeader(templateHeader, bitrateIndex);
  const header = parseFrameHeaderAt(head, 0);
  if (header === null) throw new RangeError("there is no valid header to copy");
  const bytes = new Uint8Array(header.frameBytes);
  bytes.set(head, 0);
  return { bytes, header };
}

/**
 * Builds a silent frame. All bits of its side information are 0, so the frame has no sound and uses no bits of earlier
 * frames.
 *
 * @param templateHeader the header bytes of a neighbouring frame
 */
export function buildSilentFrame(templateHeader: Uint8Array): Uint8Array {
  const header = parseFrameHeaderAt(templateHeader, 0);
  return buildEmptyFrame(templateHeader, header?.bitrateIndex ?? 1).bytes;
}

export interface InfoFrameFields {
  /** The header bytes of the first frame of sound. */
  readonly templateHeader: Uint8Array;
  /** True if all frames have the same bitrate. */
  readonly isConstant: boolean;
  readonly frameCount: number;
  /** Bytes of all frames except the information frame itself. */
  readonly audioBytes: number;
  /** Returns how many bytes of audio precede a position. The position is in hundredths of the duration, 0 to 99. */
  readonly bytesBefore: (hundredth: number) => number;
}

/**
 * Builds the information frame, which is the first frame of the file. The frame states no delay and no padding. If the
 * frame stated them, players would show different times, because only some players skip the stated samples.
 */
export function buildInfoFrame(information: InfoFrameFields): Uint8Array {
  const { templateHeader, isConstant, frameCount: frames, audioBytes, bytesBefore } = information;
  let frame = buildSilentFrame(templateHeader);
  let tag = 0;
  // Raise the bitrate until the frame has room for the tag.
  for (
    let index = parseFrameHeaderAt(templateHeader, 0)?.bitrateIndex ?? 1;
    index <= MAX_BITRATE_INDEX;
    index += 1
  ) {
    const { bytes, header } = buildEmptyFrame(templateHeader, index);
    frame = bytes;
    tag = header.sideOffset + header.sideBytes;
    if (tag + TAG_BYTES + 4 <= bytes.byteLength) break;
  }
  const view = new DataView(frame.buffer);
  const fileBytes = frame.byteLength + audioBytes;
  frame.set(new TextEncoder().encode(isConstant ? "Info" : "Xing"), tag);
  view.setUint32(tag + 4, FRAME_COUNT | BYTE_COUNT | SEEK_TABLE);
  view.setUint32(tag + 8, frames);
  // The field holds at most 4 GiB (a week of speech). State this maximum for a larger file, because a number that wraps
  // around could be far too small.
  view.setUint32(tag + 12, Math.min(fileBytes, 0xffffffff));
  for (let entry = 0; entry < SEEK_TABLE_ENTRIES; entry += 1) {
    const share = (frame.byteLength + bytesBefore(entry)) / fileBytes;
    view.setUint8(tag + 16 + entry, Math.min(255, entry === 0 ? 0 : Math.floor(256 * share)));
  }
  return frame;
}

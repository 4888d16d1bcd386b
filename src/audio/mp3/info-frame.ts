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

function parseTag(bytes: Buffer, offset: number): InfoFrame {
  if (offset + 12 > bytes.byteLength) return { frameCount: undefined, encoderPadding: undefined };
  const flags = bytes.readUInt32BE(offset + 4);
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const frameCount = has(FRAME_COUNT) ? bytes.readUInt32BE(offset + 8) : undefined;
  const fields = [has(FRAME_COUNT), has(BYTE_COUNT), has(QUALITY)].filter(Boolean).length;
  const encoder = offset + 8 + 4 * fields + (has(SEEK_TABLE) ? SEEK_TABLE_ENTRIES : 0);
  const packed = encoder + DELAY_OFFSET;
  if (packed + 3 > bytes.byteLength || !ENCODER_NAME.test(bytes.toString("latin1", encoder, encoder + 4))) {
    return { frameCount, encoderPadding: undefined };
  }
  // The delay and the padding have 12 bits each.
  const delay = bytes.readUInt16BE(packed) >> 4;
  const padding = bytes.readUInt16BE(packed + 1) & 0xfff;
  return {
    frameCount,
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
    if (/^(?:Xing|Info)$/.test(bytes.toString("latin1", offset, offset + 4))) return parseTag(bytes, offset);
  }
  return bytes.toString("latin1", VBRI_OFFSET, VBRI_OFFSET + 4) === "VBRI"
    ? { frameCount: undefined, encoderPadding: undefined }
    : undefined;
}

/** Builds a frame of zeros. Its header is like `templateHeader`, but with no checksum and no padding byte. */
function buildEmptyFrame(
  templateHeader: Uint8Array,
  bitrateIndex: number,
): { frame: Buffer; header: FrameHeader } {
  const headerBytes = Buffer.from(templateHeader.subarray(0, HEADER_BYTES));
  headerBytes[1] = (headerBytes[1] ?? 0) | 0x01;
  headerBytes[2] = ((headerBytes[2] ?? 0) & 0x0d) | (bitrateIndex << 4);
  const header = parseFrameHeaderAt(headerBytes, 0);
  if (header === null) throw new RangeError("there is no valid header to copy");
  return { frame: Buffer.concat([headerBytes], header.frameBytes), header };
}

/**
 * Builds a silent frame. All bits of its side information are 0, so the frame has no sound and uses no bits of earlier
 * frames.
 *
 * @param neighbour a neighbouring frame, whose format the silent frame has
 */
export const buildSilentFrame = ({ header, bytes }: Frame): Buffer =>
  buildEmptyFrame(bytes, header.bitrateIndex).frame;

export interface InfoFrameFields {
  /** A silent frame of the stream, whose header the information frame copies. */
  readonly silentFrame: Uint8Array;
  /** True if all frames have the same bitrate. */
  readonly isConstant: boolean;
  readonly frameCount: number;
  /** Bytes of all frames except the information frame itself. */
  readonly audioBytes: number;
  /** Returns how many bytes of audio precede a position. The position is in hundredths of the duration, 0 to 99. */
  readonly bytesBefore: (hundredth: number) => number;
}

/** Builds a frame with room for the tag, by raising the bitrate. */
function buildFrameWithRoom(silentFrame: Uint8Array): { frame: Buffer; tag: number } {
  for (let index = parseFrameHeaderAt(silentFrame, 0)?.bitrateIndex ?? 1; ; index += 1) {
    const { frame, header } = buildEmptyFrame(silentFrame, index);
    const tag = header.sideOffset + header.sideBytes;
    if (tag + TAG_BYTES + 4 <= frame.byteLength || index === MAX_BITRATE_INDEX) return { frame, tag };
  }
}

/**
 * Builds the information frame, which is the first frame of the file. The frame states no delay and no padding. If the
 * frame stated them, players would show different times, because only some players skip the stated samples.
 */
export function buildInfoFrame(fields: InfoFrameFields): Buffer {
  const { silentFrame, isConstant, frameCount, audioBytes, bytesBefore } = fields;
  const { frame, tag } = buildFrameWithRoom(silentFrame);
  const fileBytes = frame.byteLength + audioBytes;
  frame.write(isConstant ? "Info" : "Xing", tag);
  frame.writeUInt32BE(FRAME_COUNT | BYTE_COUNT | SEEK_TABLE, tag + 4);
  frame.writeUInt32BE(frameCount, tag + 8);
  // The field holds at most 4 GiB (a week of speech). State this maximum for a larger file, because a number that wraps
  // around could be far too small.
  frame.writeUInt32BE(Math.min(fileBytes, 0xffffffff), tag + 12);
  for (let entry = 0; entry < SEEK_TABLE_ENTRIES; entry += 1) {
    const share = (frame.byteLength + bytesBefore(entry)) / fileBytes;
    frame[tag + 16 + entry] = Math.min(255, entry === 0 ? 0 : Math.floor(256 * share));
  }
  return frame;
}

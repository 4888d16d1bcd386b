/** Cuts an mp3 file between frames. */
import { type Cutter, DamagedFileError, readChunkTag } from "./segment-reader.ts";

const SAMPLE_RATES_HZ = [44_100, 48_000, 32_000];
const MPEG1_BITRATES_KBPS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_BITRATES_KBPS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

interface Frame {
  readonly length: number;
  readonly seconds: number;
  /** Header bits that are equal in all frames of a file. */
  readonly sharedHeaderBits: number;
  readonly isMono: boolean;
  readonly isMpeg1: boolean;
}

/** Reads the header of a layer III frame; returns null if no frame begins at `frameOffset`. */
function parseFrameAt(bytes: Uint8Array, frameOffset: number): Frame | null {
  const [firstByte = 0, secondByte = 0, thirdByte = 0, fourthByte = 0] = bytes.subarray(
    frameOffset,
    frameOffset + 4,
  );
  if (firstByte !== 255 || (secondByte & 0xe6) !== 0xe2) return null;
  const version = (secondByte >> 3) & 3;
  const isFirstVersion = version === 3;
  const kilobits = (isFirstVersion ? MPEG1_BITRATES_KBPS : MPEG2_BITRATES_KBPS)[thirdByte >> 4];
  const rate = SAMPLE_RATES_HZ[(thirdByte >> 2) & 3];
  if (version === 1 || !kilobits || rate === undefined) return null;
  const hertz = rate / (isFirstVersion ? 1 : version === 2 ? 2 : 4);
  const samples = isFirstVersion ? 1152 : 576;
  const length = Math.floor((samples * 125 * kilobits) / hertz) + ((thirdByte >> 1) & 1);
  const sharedHeaderBits = ((secondByte & 0xfe) << 8) | (thirdByte & 12);
  return {
    length,
    seconds: samples / hertz,
    sharedHeaderBits,
    isMono: fourthByte >> 6 === 3,
    isMpeg1: isFirstVersion,
  };
}

/**
 * Finds the first frame. Two more frames must follow it directly, because other bytes may look like a frame. Only a
 * frame at the end of the bytes needs no followers.
 */
function findFirstFrame(bytes: Uint8Array, from: number): number {
  for (let frameOffset = from; frameOffset + 4 < bytes.length; frameOffset += 1) {
    const first = parseFrameAt(bytes, frameOffset);
    const second = first && parseFrameAt(bytes, frameOffset + first.length);
    const third = first && second && parseFrameAt(bytes, frameOffset + first.length + second.length);
    const isLast = first !== null && frameOffset + first.length >= bytes.length - 4;
    if (
      isLast ||
      (third &&
        first.sharedHeaderBits === second.sharedHeaderBits &&
        first.sharedHeaderBits === third.sharedHeaderBits)
    )
      return frameOffset;
  }
  throw new DamagedFileError();
}

/**
 * Creates the cutter of an mp3 file.
 *
 * @param head the beginning of the file; a leading ID3 tag may be longer than `head`
 */
export function createMp3Cutter(head: Uint8Array, sizeBytes: number): Cutter {
  let start = 0;
  if (readChunkTag(head, 0).startsWith("ID3")) {
    const [a = 0, b = 0, c = 0, d = 0] = head.subarray(6, 10);
    start = 10 + ((a << 21) | (b << 14) | (c << 7) | d);
  }
  if (start + 2048 < head.length) {
    start = findFirstFrame(head, start);
    const frame = parseFrameAt(head, start);
    const tagOffset = start + 4 + (frame?.isMpeg1 ? (frame.isMono ? 17 : 32) : frame?.isMono ? 9 : 17);
    // Skip the Xing or Info frame, because it states the length of the whole file, not that of a segment.
    if (frame !== null && ["Xing", "Info"].includes(readChunkTag(head, tagOffset))) start += frame.length;
  }
  return {
    startOffset: start,
    endOffset: sizeBytes,
    durationSeconds: null,
    segmentBytes: 512 * 1024,
    // A frame may need up to 511 bytes of audio data that lie in earlier frames.
    bytesBefore: 4096,
    bytesAfter: 8192,
    cut(bytes, offset, begin, end, from) {
      const firstFrameOffset = findFirstFrame(bytes, 0);
      let [frameOffset, lead, seconds] = [firstFrameOffset, 0, 0];
      for (;;) {
        const frame = parseFrameAt(bytes, frameOffset);
        if (frame === null) {
          // No frame begins here. Stop at the end of the segment, and near the end of the bytes, where a tag may follow
          // the last frame. Elsewhere, search for the next frame.
          if (frameOffset + 2048 > bytes.length || frameOffset + offset >= end) break;
          frameOffset = findFirstFrame(bytes, frameOffset + 1);
          continue;
        }
        if (frameOffset + offset < begin) lead += frame.seconds;
        else if (frameOffset + offset < end) seconds += frame.seconds;
        frameOffset += frame.length;
        if (frameOffset >= bytes.length) break;
      }
      if (seconds === 0) throw new DamagedFileError();
      return {
        startSeconds: from,
        endSeconds: from + seconds,
        leadInSeconds: lead,
        bytes: bytes.slice(firstFrameOffset),
        mimeType: "audio/mpeg",
      };
    },
  };
}

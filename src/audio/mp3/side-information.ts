/** Reads the side information of a frame, which describes how each granule is encoded. */
import type { FrameHeader } from "./frame-header.ts";
import type { Frame } from "./frames.ts";

/** Position and length of a field, in bits. The position is relative to the first field of a granule's channel. */
const BIG_VALUES = { bit: 12, bits: 9 };
const GLOBAL_GAIN = { bit: 21, bits: 8 };
const BLOCK_TYPE_BITS = 2;
/** Maximum of the field `big_values`. The field is a number of pairs of values, and a granule has 576 values. */
const MAX_BIG_VALUES = 288;

export interface GranuleChannel {
  /** Number of bits of audio data; 0 in silence. */
  readonly part23Length: number;
  readonly bigValues: number;
  readonly gain: number;
  /** Whether a value is one that the standard forbids. Decoders refuse such a frame. */
  readonly isBroken: boolean;
}

/** Reads a number of up to 16 bits that begins at the bit position `bit`. */
function readBits(bytes: Uint8Array, bit: number, count: number): number {
  const offset = bit >> 3;
  const three = ((bytes[offset] ?? 0) << 16) | ((bytes[offset + 1] ?? 0) << 8) | (bytes[offset + 2] ?? 0);
  return (three >> (24 - (bit & 7) - count)) & ((1 << count) - 1);
}

/**
 * Returns how far before the frame the frame's data begins, in bytes. If more than 0, the data begins in the unused
 * bytes of earlier frames.
 */
export function parseMainDataBegin({ header, bytes }: Frame): number {
  return readBits(bytes, header.sideOffset * 8, header.version === "1" ? 9 : 8);
}

/**
 * Returns the bit at which the fields of one channel of one granule begin. In a stereo frame, `index` 0 and 1 are the
 * channels of the first granule. 2 and 3 are the channels of the second granule.
 */
function getGranuleChannelBit({ version, channels, sideOffset }: FrameHeader, index: number): number {
  if (version === "1") return sideOffset * 8 + (channels === 1 ? 18 : 20) + index * 59;
  return sideOffset * 8 + (channels === 1 ? 9 : 10) + index * 63;
}

/** Reads the side information of a frame, granule by granule and channel by channel. */
export function parseGranules({ header, bytes }: Frame): GranuleChannel[] {
  const granules = header.samplesPerFrame / 576;
  return Array.from({ length: granules * header.channels }, (_, index) => {
    const bit = getGranuleChannelBit(header, index);
    const bigValues = readBits(bytes, bit + BIG_VALUES.bit, BIG_VALUES.bits);
    const switchBit = bit + (header.version === "1" ? 33 : 38);
    const isSwitched = readBits(bytes, switchBit, 1) === 1;
    return {
      part23Length: readBits(bytes, bit, BIG_VALUES.bit),
      bigValues,
      gain: readBits(bytes, bit + GLOBAL_GAIN.bit, GLOBAL_GAIN.bits),
      isBroken:
        bigValues > MAX_BIG_VALUES || (isSwitched && readBits(bytes, switchBit + 1, BLOCK_TYPE_BITS) === 0),
    };
  });
}

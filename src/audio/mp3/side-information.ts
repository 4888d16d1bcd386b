/** Reads the side information of a frame: how its sound is kept, granule by granule. */
import type { Frame } from "./frames.ts";

/** Lengths in bits of what is read, and where it stands in the fields of one channel of one granule. */
const BIG_VALUES = { bit: 12, bits: 9 };
const GAIN = { bit: 21, bits: 8 };
const BLOCK_TYPE_BITS = 2;
/** Pairs of values: a granule has 576 values. */
const BIG_VALUES_MAX = 288;

export interface GranuleChannel {
  /** Bits of sound; 0 in silence. */
  readonly soundBits: number;
  readonly bigValues: number;
  readonly gain: number;
  /** What the standard forbids, and decoders refuse the whole frame for. */
  readonly isBroken: boolean;
}

/** Up to 16 bits. */
function bitsAt(bytes: Uint8Array, bit: number, count: number): number {
  const at = bit >> 3;
  const three = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  return (three >> (24 - (bit & 7) - count)) & ((1 << count) - 1);
}

/** How far before the frame, in the sound of those before it, its own sound begins. */
export function bytesBack({ header, bytes }: Frame): number {
  return bitsAt(bytes, header.sideOffset * 8, header.version === "1" ? 9 : 8);
}

/** What a frame says of each granule and, inside it, of each channel, in that order. */
export function granulesOf({ header, bytes }: Frame): GranuleChannel[] {
  const { version, channels, samples, sideOffset } = header;
  const isLong = version === "1";
  const firstBit = sideOffset * 8 + (isLong ? (channels === 1 ? 18 : 20) : channels === 1 ? 9 : 10);
  const bitsEach = isLong ? 59 : 63;
  const switchBit = isLong ? 33 : 38;
  const granules: GranuleChannel[] = [];
  for (let index = 0; index < (samples / 576) * channels; index += 1) {
    const bit = firstBit + index * bitsEach;
    const bigValues = bitsAt(bytes, bit + BIG_VALUES.bit, BIG_VALUES.bits);
    const isSwitched = bitsAt(bytes, bit + switchBit, 1) === 1;
    const hasNoType = bitsAt(bytes, bit + switchBit + 1, BLOCK_TYPE_BITS) === 0;
    granules.push({
      soundBits: bitsAt(bytes, bit, BIG_VALUES.bit),
      bigValues,
      gain: bitsAt(bytes, bit + GAIN.bit, GAIN.bits),
      isBroken: bigValues > BIG_VALUES_MAX || (isSwitched && hasNoType),
    });
  }
  return granules;
}

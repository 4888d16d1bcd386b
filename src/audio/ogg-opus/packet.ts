/** Parses the framing of an Opus packet (RFC 6716, section 3), and refuses packets that decoders must refuse. */

const MAX_FRAME_BYTES = 1275;
/** Maximum duration of a packet in samples: 120 ms at 48 kHz. */
const MAX_PACKET_SAMPLES = 5760;
const HAS_PADDING = 0x40;
const IS_VARIABLE = 0x80;
const COUNT_MASK = 0x3f;
const IS_STEREO = 0x04;

/**
 * Frame lengths in samples at 48 kHz, one list for each mode. The same list applies to every bandwidth of the mode:
 * SILK has three bandwidths, hybrid has two, and CELT has four.
 */
const SILK_SAMPLES = [480, 960, 1920, 2880];
const HYBRID_SAMPLES = [480, 960];
const CELT_SAMPLES = [120, 240, 480, 960];
const FIRST_HYBRID = 12;
const FIRST_CELT = 16;

function readFrameSamples(config: number): number {
  if (config >= FIRST_CELT) return CELT_SAMPLES[config % 4] ?? 0;
  return (config >= FIRST_HYBRID ? HYBRID_SAMPLES[config % 2] : SILK_SAMPLES[config % 4]) ?? 0;
}

export interface OpusPacket {
  /** Duration in samples at 48 kHz. */
  readonly samples: number;
  readonly isStereo: boolean;
  /** True if the packet is encoded by CELT alone. Other packets are encoded by SILK, alone or together with CELT. */
  readonly isCelt: boolean;
}

/**
 * Reads a frame length; also returns the number of bytes (one or two) that encode it. Returns undefined if bytes are
 * missing.
 */
function readLengthAt(
  packet: Uint8Array,
  offset: number,
): { readonly length: number; readonly bytes: number } | undefined {
  const [first, second] = [packet[offset], packet[offset + 1]];
  if (first === undefined) return undefined;
  if (first < 252) return { length: first, bytes: 1 };
  return second === undefined ? undefined : { length: first + 4 * second, bytes: 2 };
}

/** Returns whether `count` frames of equal length fill the bytes from `offset` to `end`. */
function fillsWithEqualFrames(_: Uint8Array, offset: number, end: number, count: number): boolean {
  const bytes = end - offset;
  return bytes >= 0 && bytes % count === 0 && bytes / count <= MAX_FRAME_BYTES;
}

/**
 * Returns whether `count` frames fill the bytes from `offset` to `end`. The packet states the length of each frame
 * except the last.
 */
function fillsWithStatedFrames(packet: Uint8Array, offset: number, end: number, count: number): boolean {
  let position = offset;
  let sum = 0;
  for (let frame = 1; frame < count; frame += 1) {
    const statedLength = readLengthAt(packet, position);
    if (statedLength === undefined || statedLength.length > MAX_FRAME_BYTES) return false;
    position += statedLength.bytes;
    sum += statedLength.length;
  }
  const last = end - position - sum;
  return last >= 0 && last <= MAX_FRAME_BYTES;
}

/** Returns where the frames begin (after the bytes that state the padding's length) and end (before the padding). */
function withoutPadding(packet: Uint8Array): { readonly offset: number; readonly end: number } {
  let offset = 2;
  let padding = 0;
  for (;;) {
    const value = packet[offset] ?? 0;
    offset += 1;
    // A length byte of 255 stands for 254 bytes of padding, and another length byte follows it.
    padding += value === 255 ? 254 : value;
    if (value !== 255) return { offset, end: packet.byteLength - padding };
  }
}

function areFramesValid(packet: Uint8Array, code: number, count: number): boolean {
  const end = packet.byteLength;
  if (code < 2) return fillsWithEqualFrames(packet, 1, end, count);
  if (code === 2) return fillsWithStatedFrames(packet, 1, end, count);
  const layout = packet[1] ?? 0;
  const frameRange = (layout & HAS_PADDING) === 0 ? { offset: 2, end } : withoutPadding(packet);
  const check = (layout & IS_VARIABLE) === 0 ? fillsWithEqualFrames : fillsWithStatedFrames;
  return check(packet, frameRange.offset, frameRange.end, count);
}

/** Describes a packet; returns undefined if decoders must refuse it. */
export function parsePacket(packet: Uint8Array): OpusPacket | undefined {
  const [toc, layout] = packet;
  if (toc === undefined) return undefined;
  const code = toc & 3;
  const count = code === 3 ? (layout ?? 0) & COUNT_MASK : code === 0 ? 1 : 2;
  const samples = count * readFrameSamples(toc >> 3);
  if (samples === 0 || samples > MAX_PACKET_SAMPLES || !areFramesValid(packet, code, count)) return undefined;
  return { samples, isStereo: (toc & IS_STEREO) !== 0, isCelt: toc >> 3 >= FIRST_CELT };
}

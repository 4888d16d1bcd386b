/** Reads the four bytes that begin every frame of MPEG audio, layer III (ISO/IEC 11172-3 and 13818-3). */

export const HEADER_BYTES = 4;
/** Length of the longest frames: 320 kbit/s at 32 kHz and 160 kbit/s at 8 kHz, with a padding byte. */
export const MAX_FRAME_BYTES = 1441;

const LAYER_III = 1;
const MONO_MODE = 3;
const CRC_BYTES = 2;

/** MPEG versions, indexed by the two version bits of a header. Index 1 is reserved. */
const MPEG_VERSIONS = ["2.5", undefined, "2", "1"] as const;
export type MpegVersion = "1" | "2" | "2.5";

const RATES_HZ: Readonly<Record<MpegVersion, readonly number[]>> = {
  "1": [44100, 48000, 32000],
  "2": [22050, 24000, 16000],
  "2.5": [11025, 12000, 8000],
};

/** Bitrates by MPEG version, indexed by the bitrate index of a header; index 0 means free format. */
const BITRATES_V1_KBPS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const BITRATES_V2_KBPS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
export const MAX_BITRATE_INDEX = 14;

export interface FrameHeader {
  readonly version: MpegVersion;
  readonly sampleRateHz: number;
  readonly channels: 1 | 2;
  /** Index into the bitrate table of the version, 1 to {@link MAX_BITRATE_INDEX}. */
  readonly bitrateIndex: number;
  readonly hasCrc: boolean;
  /** Length of the whole frame including its header. */
  readonly frameBytes: number;
  /** Samples per channel in a frame: 1,152 in two granules (MPEG-1), or 576 in one granule. */
  readonly samplesPerFrame: number;
  /** Offset of the side information in the frame. */
  readonly sideOffset: number;
  readonly sideBytes: number;
}

/** Returns the length of the side information. It depends only on the version and the number of channels. */
const getSideInformationBytes = (version: MpegVersion, channels: number): number =>
  version === "1" ? (channels === 1 ? 17 : 32) : channels === 1 ? 9 : 17;

function buildHeader(second: number, third: number, fourth: number): FrameHeader | null {
  const version = MPEG_VERSIONS[(second >> 3) & 3];
  if (version === undefined || ((second >> 1) & 3) !== LAYER_III) return null;
  const sampleRateHz = RATES_HZ[version][(third >> 2) & 3];
  const bitrateIndex = third >> 4;
  const kbps = (version === "1" ? BITRATES_V1_KBPS : BITRATES_V2_KBPS)[bitrateIndex];
  // Refuse reserved values. Random bytes that resemble a header often contain such a value.
  if (sampleRateHz === undefined || kbps === undefined || kbps === 0 || (fourth & 3) === 2) return null;
  const channels = fourth >> 6 === MONO_MODE ? 1 : 2;
  const samplesPerFrame = version === "1" ? 1152 : 576;
  const hasCrc = (second & 1) === 0;
  return {
    version,
    sampleRateHz,
    channels,
    bitrateIndex,
    hasCrc,
    frameBytes: Math.floor(((samplesPerFrame / 8) * kbps * 1000) / sampleRateHz) + ((third >> 1) & 1),
    samplesPerFrame,
    sideOffset: HEADER_BYTES + (hasCrc ? CRC_BYTES : 0),
    sideBytes: getSideInformationBytes(version, channels),
  };
}

/** Cache of parsed headers. A stream may have a million frames, but only a handful of different headers. */
const headerCache = new Map<number, FrameHeader | null>();

/**
 * Reads the header at an offset. Returns null if fewer than {@link HEADER_BYTES} bytes remain, if no header begins
 * there, or if the header has free format, another layer or a reserved value.
 */
export function parseFrameHeaderAt(bytes: Uint8Array, offset: number): FrameHeader | null {
  const [second = 0, third = 0, fourth = 0] = [bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]];
  if (bytes[offset] !== 0xff || second < 0xe0 || offset + HEADER_BYTES > bytes.byteLength) return null;
  const key = (second << 16) | (third << 8) | fourth;
  const cachedHeader = headerCache.get(key);
  if (cachedHeader !== undefined) return cachedHeader;
  const header = buildHeader(second, third, fourth);
  // Bound the cache, because data that is not mp3 could contain millions of different headers.
  if (headerCache.size < 4096) headerCache.set(key, header);
  return header;
}

/** Returns whether the bytes are a header of free format, which does not state its bitrate. */
export function isFreeFormat(bytes: Uint8Array): boolean {
  if (bytes.byteLength < HEADER_BYTES || (bytes[2] ?? 0) >> 4 !== 0) return false;
  const withBitrate = Uint8Array.from(bytes.subarray(0, HEADER_BYTES));
  withBitrate[2] = (withBitrate[2] ?? 0) | 0x10;
  return parseFrameHeaderAt(withBitrate, 0) !== null;
}

/** Returns whether frames can share a stream. Bitrate, checksum and stereo mode may change within a stream. */
export const canShareStream = (one: FrameHeader, other: FrameHeader): boolean =>
  one.version === other.version && one.sampleRateHz === other.sampleRateHz && one.channels === other.channels;

/** Builds mp3 files frame by frame. The frames contain no real sound. */

const HEADER_BYTES = 4;
/** Sample rates in Hz, by the version bits of a header: 3 is MPEG-1, 2 is MPEG-2. */
const RATES = { 3: [44100, 48000, 32000], 2: [22050, 24000, 16000] };
const KBPS = {
  3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160],
  2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96],
};

export interface FrameOptions {
  /** 3 is MPEG-1, 2 is MPEG-2. */
  readonly versionBits?: 2 | 3;
  /** 1 is layer III. */
  readonly layerBits?: number;
  readonly rateBits?: number;
  readonly bitrateIndex?: number;
  readonly channels?: 1 | 2;
  readonly hasCrc?: boolean;
  /** Field `main_data_begin`: the frame's data begins this many bytes before the frame, inside earlier frames. */
  readonly backBytes?: number;
  /** The byte that fills the frame in place of sound. */
  readonly fill?: number;
  readonly tag?: "Info" | "Xing" | "VBRI";
}

/** Builds one frame. Default: MPEG-2, 24 kHz, 64 kbit/s, mono. */
export function frame(options: FrameOptions): Buffer {
  const { versionBits = 2, layerBits = 1, rateBits = 1, bitrateIndex = 8, channels = 1 } = options;
  const { hasCrc = false, backBytes = 0, fill = 0, tag } = options;
  const perFrame = versionBits === 3 ? 144 : 72;
  const kbps = KBPS[versionBits][bitrateIndex] ?? 0;
  // A frame of free format states no bitrate, so any length is valid.
  const length =
    kbps === 0 ? 300 : Math.floor((perFrame * kbps * 1000) / (RATES[versionBits][rateBits] ?? 1));
  const sideBytes = versionBits === 3 ? (channels === 1 ? 17 : 32) : channels === 1 ? 9 : 17;
  const bytes = Buffer.alloc(length, fill);
  const head = [0xff, 0xe0 | (versionBits << 3) | (layerBits << 1) | (hasCrc ? 0 : 1)];
  bytes.set([...head, (bitrateIndex << 4) | (rateBits << 2), channels === 1 ? 0xc0 : 0], 0);
  const side = HEADER_BYTES + (hasCrc ? 2 : 0);
  bytes.fill(0, HEADER_BYTES, side + sideBytes);
  if (versionBits === 3) bytes.writeUInt16BE(backBytes << 7, side);
  else bytes[side] = backBytes;
  if (tag !== undefined) bytes.write(tag, tag === "VBRI" ? 36 : side + sideBytes);
  return bytes;
}

/** Builds frames with the same options. Each is filled with its index. */
export const cbrFrames = (count: number, options: FrameOptions = {}): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => frame({ fill: index, ...options })));

/** Builds an ID3v2.4 tag. */
export function ID3(content: Buffer, { footer = false } = {}): Buffer {
  const head = (name: string): Buffer => {
    const bytes = Buffer.from(`${name}\x04\0${footer ? "\x10" : "\0"}\0\0\0\0`, "latin1");
    const size = content.byteLength;
    bytes.set([(size >> 21) & 0x7f, (size >> 14) & 0x7f, (size >> 7) & 0x7f, size & 0x7f], 6);
    return bytes;
  };
  return Buffer.concat([head("ID3"), content, ...(footer ? [head("3DI")] : [])]);
}

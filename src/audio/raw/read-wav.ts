/** Finds the samples in a wav file and their format, and skips all other chunks. */
import type { PartFile } from "../part-file.ts";

const RIFF_HEADER_BYTES = 12;
export const CHUNK_HEADER_BYTES = 8;
export const PLAIN_FORMAT_BYTES = 16;
export const EXTENSIBLE_FORMAT_BYTES = 40;
/**
 * Maximum number of chunks. No program writes that many, and a hostile file of a million chunks would take too long.
 */
const MAX_CHUNKS = 1000;
/** Placeholder that programs write for a length that is unknown or exceeds 32 bits. */
export const UNKNOWN_SIZE = 0xffffffff;
const MAX_CHANNELS = 255;

export const WAVE_PCM = 1;
export const WAVE_FLOAT = 3;
export const WAVE_EXTENSIBLE = 0xfffe;
/** The fixed bytes after the format number in the GUID of a sub-format. */
export const SUB_FORMAT_TAIL = "000000001000800000aa00389b71";

export interface WavFormat {
  /** {@link WAVE_PCM} or {@link WAVE_FLOAT}. An extensible format states its encoding in its sub-format. */
  readonly encoding: number;
  readonly channels: number;
  readonly sampleRateHz: number;
  /** Number of bits of one sample in the file. */
  readonly bitsPerSample: number;
  /** Number of bits of a sample that carry sound. */
  readonly validBits: number;
  /** Bit mask that assigns loudspeakers to the channels; 0 if the file does not state a mask. */
  readonly channelMask: number;
}

export interface WavPart {
  readonly format: WavFormat;
  /** Offset of the samples in the file. */
  readonly offset: number;
  /** Length of the samples: whole frames, more than 0. */
  readonly sizeBytes: number;
}

interface Chunk {
  readonly id: string;
  readonly offset: number;
  readonly sizeBytes: number;
}

const isName = (id: string): boolean => /^[\x20-\x7e]{4}$/.test(id);

async function readChunkAt(file: PartFile, offset: number): Promise<Chunk | undefined> {
  const header = await file.readBytes(offset, CHUNK_HEADER_BYTES);
  if (header.byteLength < CHUNK_HEADER_BYTES) return undefined;
  const id = header.toString("latin1", 0, 4);
  return { id, offset: offset + CHUNK_HEADER_BYTES, sizeBytes: header.readUInt32LE(4) };
}

const computeChunkEnd = ({ offset, sizeBytes }: Chunk): number => offset + sizeBytes + (sizeBytes % 2);

function parseFormat(bytes: Buffer, file: PartFile): WavFormat {
  if (bytes.byteLength < PLAIN_FORMAT_BYTES) throw file.damagedPartError("its format chunk is too short");
  const tag = bytes.readUInt16LE(0);
  const bitsPerSample = bytes.readUInt16LE(14);
  const isExtensible = tag === WAVE_EXTENSIBLE && bytes.byteLength >= EXTENSIBLE_FORMAT_BYTES;
  const tail = bytes.toString("hex", 26, EXTENSIBLE_FORMAT_BYTES);
  const encoding = isExtensible && tail === SUB_FORMAT_TAIL ? bytes.readUInt16LE(24) : tag;
  const validBits = isExtensible ? bytes.readUInt16LE(18) : bitsPerSample;
  const format: WavFormat = {
    encoding,
    channels: bytes.readUInt16LE(2),
    sampleRateHz: bytes.readUInt32LE(4),
    bitsPerSample,
    // If the number of valid bits is 0 or too large, all bits count as valid. Some programs write 0.
    validBits: validBits === 0 || validBits > bitsPerSample ? bitsPerSample : validBits,
    channelMask: isExtensible ? bytes.readUInt32LE(20) : 0,
  };
  const damage = findFormatDamage(format, bytes.readUInt16LE(12));
  if (damage !== undefined) throw file.damagedPartError(damage);
  return format;
}

function findFormatDamage(format: WavFormat, blockBytes: number): string | undefined {
  const { encoding, channels, sampleRateHz, bitsPerSample } = format;
  const sizes = encoding === WAVE_PCM ? [8, 16, 24, 32] : encoding === WAVE_FLOAT ? [32, 64] : [];
  if (!sizes.includes(bitsPerSample)) {
    return `it holds samples of ${bitsPerSample} bits in encoding ${encoding}, which is not plain sound`;
  }
  if (channels < 1 || channels > MAX_CHANNELS) return `it says that it has ${channels} channels`;
  if (sampleRateHz === 0) return "it says that its sample rate is 0";
  if (blockBytes !== computeFrameBytes(format)) return "its block size contradicts its channels and bits";
  return undefined;
}

/** Returns the length of a frame, which has one sample of every channel. */
export const computeFrameBytes = ({ channels, bitsPerSample }: WavFormat): number =>
  (channels * bitsPerSample) / 8;

/** Reads the length of the samples from the `ds64` chunk of RF64; returns undefined if the chunk states no length. */
async function readLongDataSize(file: PartFile, ds64: Chunk): Promise<number | undefined> {
  const bytes = await file.readBytes(ds64.offset, 16);
  if (bytes.byteLength < 16) return undefined;
  const size = Number(bytes.readBigUInt64LE(8));
  return size > 0 && Number.isSafeInteger(size) ? size : undefined;
}

/** Returns whether chunks with valid names fill the file from `offset` to its end. */
async function endsInChunks(file: PartFile, offset: number): Promise<boolean> {
  let position = offset;
  for (let count = 0; count < MAX_CHUNKS && position < file.sizeBytes; count += 1) {
    const chunk = await readChunkAt(file, position);
    if (chunk === undefined || !isName(chunk.id)) return false;
    position = computeChunkEnd(chunk);
  }
  return position === file.sizeBytes || position === file.sizeBytes + 1;
}

/**
 * Returns the number of bytes of samples: the length that the file states, or the rest of the file if the stated length
 * is missing or too large.
 */
async function computeDataBytes(file: PartFile, data: Chunk, longSize: number | undefined): Promise<number> {
  const bytesLeft = file.sizeBytes - data.offset;
  const statedBytes = data.sizeBytes === UNKNOWN_SIZE && longSize !== undefined ? longSize : data.sizeBytes;
  if (statedBytes > bytesLeft) return bytesLeft;
  // A length of 0 means that the writing program could not seek back to fill it in, or that there are no samples.
  if (statedBytes === 0) return (await endsInChunks(file, data.offset)) ? 0 : bytesLeft;
  return statedBytes;
}

/**
 * Reads what a joiner needs from a wav file, including RF64.
 *
 * @throws DamagedPartError if the file is not a wav file, has no samples, or has compressed samples
 */
export async function readWav(file: PartFile): Promise<WavPart> {
  const header = await file.readBytes(0, RIFF_HEADER_BYTES);
  const containerId = header.toString("latin1", 0, 4);
  if ((containerId !== "RIFF" && containerId !== "RF64") || header.toString("latin1", 8, 12) !== "WAVE") {
    throw file.damagedPartError("it does not begin like a wav file");
  }
  let format: WavFormat | undefined;
  let longSize: number | undefined;
  let chunkOffset = RIFF_HEADER_BYTES;
  for (let count = 0; count < MAX_CHUNKS; count += 1) {
    const chunk = await readChunkAt(file, chunkOffset);
    if (chunk === undefined) throw file.damagedPartError("it has no samples");
    if (chunk.id === "ds64" && containerId === "RF64") longSize = await readLongDataSize(file, chunk);
    if (chunk.id === "fmt ") {
      const length = Math.min(chunk.sizeBytes, EXTENSIBLE_FORMAT_BYTES);
      format = parseFormat(await file.readBytes(chunk.offset, length), file);
    }
    if (chunk.id === "data") {
      if (format === undefined) throw file.damagedPartError("it does not say what its samples are");
      const available = await computeDataBytes(file, chunk, longSize);
      const bytes = available - (available % computeFrameBytes(format));
      if (bytes === 0) throw file.damagedPartError("it holds no sound");
      return { format, offset: chunk.offset, sizeBytes: bytes };
    }
    chunkOffset = computeChunkEnd(chunk);
  }
  throw file.damagedPartError("it has more chunks than any wav file");
}

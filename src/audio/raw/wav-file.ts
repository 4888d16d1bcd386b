/**
 * Reads and writes what surrounds the samples of a wav file: RIFF, or RF64 (EBU Tech 3306) if its length exceeds 32
 * bits. Reading skips all chunks but the format and the samples.
 */
import { buildTextTags, type TextTags } from "../join-request.ts";
import type { PartFile } from "../part-file.ts";

const RIFF_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
const PLAIN_FORMAT_BYTES = 16;
const EXTENSIBLE_FORMAT_BYTES = 40;
/**
 * Maximum number of chunks. No program writes that many, and a hostile file of a million chunks would take too long.
 */
const MAX_CHUNKS = 1000;
/** Placeholder that programs write for a length that is unknown or exceeds 32 bits. */
const UNKNOWN_SIZE = 0xffffffff;
const MAX_CHANNELS = 255;

export const WAVE_PCM = 1;
export const WAVE_FLOAT = 3;
const WAVE_EXTENSIBLE = 0xfffe;
/** The fixed bytes after the format number in the GUID of a sub-format. */
const SUB_FORMAT_TAIL = "000000001000800000aa00389b71";

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

const DS64_BYTES = 28;
/** Length of what an extensible format adds to a plain one, without the field of this length. */
const EXTENSION_BYTES = 22;

function buildChunk(id: string, payload: Uint8Array, sizeBytes = payload.byteLength): Buffer {
  const header = Buffer.alloc(CHUNK_HEADER_BYTES);
  header.write(id);
  header.writeUInt32LE(sizeBytes, 4);
  return Buffer.concat([header, payload]);
}

function buildFormatChunk(format: WavFormat): Buffer {
  const { encoding, channels, sampleRateHz, bitsPerSample, validBits, channelMask } = format;
  const isPlain = channelMask === 0 && validBits === bitsPerSample && channels <= 2;
  const payload = Buffer.alloc(isPlain ? PLAIN_FORMAT_BYTES : EXTENSIBLE_FORMAT_BYTES);
  payload.writeUInt16LE(isPlain ? encoding : WAVE_EXTENSIBLE, 0);
  payload.writeUInt16LE(channels, 2);
  payload.writeUInt32LE(sampleRateHz, 4);
  // A hostile file may state a sample rate whose product does not fit.
  payload.writeUInt32LE((sampleRateHz * computeFrameBytes(format)) % 2 ** 32, 8);
  payload.writeUInt16LE(computeFrameBytes(format), 12);
  payload.writeUInt16LE(bitsPerSample, 14);
  if (!isPlain) {
    payload.writeUInt16LE(EXTENSION_BYTES, 16);
    payload.writeUInt16LE(validBits, 18);
    payload.writeUInt32LE(channelMask, 20);
    payload.writeUInt16LE(encoding, 24);
    payload.write(SUB_FORMAT_TAIL, 26, "hex");
  }
  return buildChunk("fmt ", payload);
}

/** Builds the `ds64` chunk with the 64-bit lengths of RF64. */
function buildLongSizes(riffBytes: number, dataBytes: number, frames: number): Buffer {
  const payload = Buffer.alloc(DS64_BYTES);
  payload.writeBigUInt64LE(BigInt(riffBytes), 0);
  payload.writeBigUInt64LE(BigInt(dataBytes), 8);
  payload.writeBigUInt64LE(BigInt(frames), 16);
  return buildChunk("ds64", payload);
}

/** Returns the byte value of silence. 8-bit samples are unsigned, so their silence is the middle value. */
export const getSilentByte = ({ encoding, bitsPerSample }: WavFormat): number =>
  encoding === WAVE_PCM && bitsPerSample === 8 ? 0x80 : 0;

const INFO_IDS = { title: "INAM", author: "IART", album: "IPRD", track: "ITRK" };

/** Builds the chunk of tags. The chunk follows the samples, because some programs expect samples at byte 44. */
function buildInfoChunk(tags: TextTags): Buffer {
  const entries = buildTextTags(tags, INFO_IDS).flatMap(([id, text]) => {
    const bytes = Buffer.from(`${text}\0`);
    return [buildChunk(id, bytes), Buffer.alloc(bytes.byteLength % 2)];
  });
  return entries.length === 0
    ? Buffer.alloc(0)
    : buildChunk("LIST", Buffer.concat([Buffer.from("INFO"), ...entries]));
}

/** Builds the header and trailer around `dataBytes` bytes of samples. */
export function buildWavHeaderAndTrailer(
  format: WavFormat,
  dataBytes: number,
  tags: TextTags = {},
): { readonly header: Buffer; readonly trailer: Buffer } {
  // A chunk of odd length is followed by a padding byte. The stated length of the chunk does not include this byte.
  const trailer = Buffer.concat([Buffer.alloc(dataBytes % 2), buildInfoChunk(tags)]);
  const formatChunk = buildFormatChunk(format);
  const wave = Buffer.from("WAVE");
  const nothing = Buffer.alloc(0);
  const riffBytes =
    wave.byteLength + formatChunk.byteLength + CHUNK_HEADER_BYTES + dataBytes + trailer.byteLength;
  if (riffBytes <= UNKNOWN_SIZE) {
    const parts = [buildChunk("RIFF", wave, riffBytes), formatChunk, buildChunk("data", nothing, dataBytes)];
    return { header: Buffer.concat(parts), trailer };
  }
  const longSizes = buildLongSizes(
    riffBytes + CHUNK_HEADER_BYTES + DS64_BYTES,
    dataBytes,
    dataBytes / computeFrameBytes(format),
  );
  const parts = [
    buildChunk("RF64", wave, UNKNOWN_SIZE),
    longSizes,
    formatChunk,
    buildChunk("data", nothing, UNKNOWN_SIZE),
  ];
  return { header: Buffer.concat(parts), trailer };
}

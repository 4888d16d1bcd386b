/** Writes the header and trailer of a wav file: RIFF, or RF64 (EBU Tech 3306) if its length exceeds 32 bits. */
import { buildTextTags, type TextTags } from "../join-request.ts";
import {
  CHUNK_HEADER_BYTES,
  computeFrameBytes,
  EXTENSIBLE_FORMAT_BYTES,
  PLAIN_FORMAT_BYTES,
  SUB_FORMAT_TAIL,
  UNKNOWN_SIZE,
  WAVE_EXTENSIBLE,
  WAVE_PCM,
  type WavFormat,
} from "./read-wav.ts";

const MAX_SIZE = 0xffffffff;
const DS64_BYTES = 28;
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
  if (riffBytes <= MAX_SIZE) {
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

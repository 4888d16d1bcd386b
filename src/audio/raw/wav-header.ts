/** Writes the header and trailer of a wav file: RIFF, or RF64 (EBU Tech 3306) if its length exceeds 32 bits. */
import { buildTextTags, type TextTags } from "../join-request.ts";
import { computeFrameBytes, WAVE_PCM, type WavFormat } from "./read-wav.ts";

const MAX_SIZE = 0xffffffff;
const PLAIN_FORMAT_BYTES = 16;
const EXTENSIBLE_FORMAT_BYTES = 40;
const DS64_BYTES = 28;
const CHUNK_HEADER_BYTES = 8;
const WAVE_EXTENSIBLE = 0xfffe;
const EXTENSION_BYTES = 22;
const SUB_FORMAT_TAIL = Buffer.from("000000001000800000aa00389b71", "hex");

function buildChunk(id: string, payload: Uint8Array, sizeBytes = payload.byteLength): Uint8Array {
  const bytes = new Uint8Array(CHUNK_HEADER_BYTES + payload.byteLength);
  bytes.set(new TextEncoder().encode(id), 0);
  new DataView(bytes.buffer).setUint32(4, sizeBytes, true);
  bytes.set(payload, CHUNK_HEADER_BYTES);
  return bytes;
}

function formatPayload(format: WavFormat): Uint8Array {
  const { encoding, channels, sampleRateHz, bitsPerSample, validBits, channelMask } = format;
  const isPlain = channelMask === 0 && validBits === bitsPerSample && channels <= 2;
  const payload = new Uint8Array(isPlain ? PLAIN_FORMAT_BYTES : EXTENSIBLE_FORMAT_BYTES);
  const view = new DataView(payload.buffer);
  view.setUint16(0, isPlain ? encoding : WAVE_EXTENSIBLE, true);
  view.setUint16(2, channels, true);
  view.setUint32(4, sampleRateHz, true);
  view.setUint32(8, sampleRateHz * computeFrameBytes(format), true);
  view.setUint16(12, computeFrameBytes(format), true);
  view.setUint16(14, bitsPerSample, true);
  if (isPlain) return payload;
  view.setUint16(16, EXTENSION_BYTES, true);
  view.setUint16(18, validBits, true);
  view.setUint32(20, channelMask, true);
  view.setUint16(24, encoding, true);
  payload.set(SUB_FORMAT_TAIL, 26);
  return payload;
}

/**
 * Builds the `ds64` chunk with the 64-bit lengths of RF64. In RF64, each 32-bit length is replaced by {@link MAX_SIZE}.
 */
function buildLongSizes(riffBytes: number, dataBytes: number, frames: number): Uint8Array {
  const payload = new Uint8Array(DS64_BYTES);
  const view = new DataView(payload.buffer);
  view.setBigUint64(0, BigInt(riffBytes), true);
  view.setBigUint64(8, BigInt(dataBytes), true);
  view.setBigUint64(16, BigInt(frames), true);
  return buildChunk("ds64", payload);
}

/** Returns the byte value of silence. 8-bit samples are unsigned, so their silence is the middle value. */
export const getSilentByte = ({ encoding, bitsPerSample }: WavFormat): number =>
  encoding === WAVE_PCM && bitsPerSample === 8 ? 0x80 : 0;

const INFO_IDS = { title: "INAM", author: "IART", album: "IPRD", track: "ITRK" };

/** Builds the chunk of tags. The chunk follows the samples, because some programs expect samples at byte 44. */
function buildInfoChunk(tags: TextTags): Uint8Array {
  const entries = buildTextTags(tags, INFO_IDS).flatMap(([id, text]) => {
    const bytes = new TextEncoder().encode(`${text}\0`);
    return [buildChunk(id, bytes), new Uint8Array(bytes.byteLength % 2)];
  });
  return entries.length === 0
    ? new Uint8Array(0)
    : buildChunk("LIST", Buffer.concat([new TextEncoder().encode("INFO"), ...entries]));
}

/** Builds the header and trailer around `dataBytes` bytes of samples. */
export function buildWavHeaderAndTrailer(
  format: WavFormat,
  dataBytes: number,
  tags: TextTags = {},
): { readonly header: Uint8Array; readonly trailer: Uint8Array } {
  // A chunk of odd length is followed by a padding byte. The stated length of the chunk does not include this byte.
  const trailer = Buffer.concat([new Uint8Array(dataBytes % 2), buildInfoChunk(tags)]);
  const formatChunk = buildChunk("fmt ", formatPayload(format));
  const wave = new TextEncoder().encode("WAVE");
  const riffBytes =
    wave.byteLength + formatChunk.byteLength + CHUNK_HEADER_BYTES + dataBytes + trailer.byteLength;
  if (riffBytes <= MAX_SIZE) {
    const parts = [
      buildChunk("RIFF", wave, riffBytes),
      formatChunk,
      buildChunk("data", new Uint8Array(0), dataBytes),
    ];
    return { header: Buffer.concat(parts), trailer };
  }
  const ds64Bytes = CHUNK_HEADER_BYTES + DS64_BYTES;
  const sizes = buildLongSizes(riffBytes + ds64Bytes, dataBytes, dataBytes / computeFrameBytes(format));
  const data = buildChunk("data", new Uint8Array(0), MAX_SIZE);
  return { header: Buffer.concat([buildChunk("RF64", wave, MAX_SIZE), sizes, formatChunk, data]), trailer };
}

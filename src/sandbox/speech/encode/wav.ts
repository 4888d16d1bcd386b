/** Converts mono samples to 16-bit PCM, and to WAV files of it. */
import { concatBytes } from "./concat-bytes.ts";

const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;
const FORMAT_PCM = 1;

/**
 * Builds the RIFF header of a 16-bit mono WAV file.
 *
 * @param dataBytes length in bytes of the samples that follow the header
 */
export function buildWavHeader(sampleRateHz: number, dataBytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("RIFF");
  header.writeUInt32LE(HEADER_BYTES - 8 + dataBytes, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(FORMAT_PCM, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sampleRateHz, 24);
  header.writeUInt32LE(sampleRateHz * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(BYTES_PER_SAMPLE * 8, 34);
  header.write("data", 36);
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

/** Encodes mono samples from -1 to 1 as a WAV file. */
export function encodeWav(samples: Float32Array, sampleRateHz: number): Uint8Array {
  const data = toPcm16Bytes(samples);
  return concatBytes([buildWavHeader(sampleRateHz, data.length), data]);
}

const FULL_SCALE = 32767;

/** Converts mono samples to PCM bytes. Clips values outside the range from -1 to 1. */
export function toPcm16Bytes(samples: Float32Array): Uint8Array {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  // Use an index, because an iterator takes ten times as long, and there can be tens of millions of samples.
  for (let index = 0; index < samples.length; index++) {
    const sample = samples[index] ?? 0;
    view.setInt16(index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * FULL_SCALE), true);
  }
  return bytes;
}

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
export function buildWavHeader(sampleRateHz: number, dataBytes: number): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES);
  const view = new DataView(header.buffer);
  const ascii = new TextEncoder();
  header.set(ascii.encode("RIFF"), 0);
  view.setUint32(4, HEADER_BYTES - 8 + dataBytes, true);
  header.set(ascii.encode("WAVEfmt "), 8);
  view.setUint32(16, 16, true);
  view.setUint16(20, FORMAT_PCM, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRateHz, true);
  view.setUint32(28, sampleRateHz * BYTES_PER_SAMPLE, true);
  view.setUint16(32, BYTES_PER_SAMPLE, true);
  view.setUint16(34, BYTES_PER_SAMPLE * 8, true);
  header.set(ascii.encode("data"), 36);
  view.setUint32(40, dataBytes, true);
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

/** Converts samples to signed 16-bit little-endian bytes. The format `pcm` consists of these bytes alone. */

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

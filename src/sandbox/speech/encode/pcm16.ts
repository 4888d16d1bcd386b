/** Turns samples into signed 16-bit little-endian bytes, which is all of the pcm format. */

const FULL_SCALE = 32767;

/** @param samples mono, -1 to 1; anything beyond is clipped */
export function pcm16Bytes(samples: Float32Array): Uint8Array {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  // Indexed: there can be tens of millions of samples, and an iterator takes ten times as long.
  for (let index = 0; index < samples.length; index++) {
    const sample = samples[index] ?? 0;
    view.setInt16(index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * FULL_SCALE), true);
  }
  return bytes;
}

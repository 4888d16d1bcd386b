/** Measures speech by its samples: pitch, loudness, brightness. Knows nothing about synthesis. */

/** Returns the samples of audio in the pcm format, from -1 to 1. */
export function pcmSamples(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from(
    { length: bytes.length / 2 },
    (_, index) => view.getInt16(index * 2, true) / 32768,
  );
}

/** Returns the root mean square of the samples. */
export function loudness(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

const FRAME_SECONDS = 0.04;
const HOP_SECONDS = 0.02;
const LOWEST_HZ = 40;
const HIGHEST_HZ = 700;
/**
 * A shorter lag is chosen if its correlation is at least this share of the best one. The lag with the best correlation
 * may be two periods long.
 */
const TOLERANCE = 0.92;
const VOICED = 0.6;

/** Returns the pitch of one frame, by normalised autocorrelation, or `null` if the frame is not voiced. */
function frameF0Hz(samples: Float32Array, start: number, rateHz: number): number | null {
  const frame = Math.round(FRAME_SECONDS * rateHz);
  const correlations = new Map<number, number>();
  let best = 0;
  for (let lag = Math.floor(rateHz / HIGHEST_HZ); lag <= Math.ceil(rateHz / LOWEST_HZ); lag++) {
    let product = 0;
    let energy = 0;
    let lagged = 0;
    for (let index = start; index < start + frame; index++) {
      const here = samples[index] ?? 0;
      const there = samples[index + lag] ?? 0;
      product += here * there;
      energy += here * here;
      lagged += there * there;
    }
    const correlation = product / Math.sqrt(energy * lagged + Number.EPSILON);
    correlations.set(lag, correlation);
    best = Math.max(best, correlation);
  }
  if (best < VOICED) return null;
  for (const [lag, correlation] of correlations) {
    const isPeak =
      correlation >= (correlations.get(lag - 1) ?? 1) && correlation >= (correlations.get(lag + 1) ?? 1);
    if (isPeak && correlation >= best * TOLERANCE) return rateHz / lag;
  }
  return null;
}

/** Returns the median pitch of the voiced frames that are loud enough. */
export function medianF0Hz(samples: Float32Array, rateHz: number): number {
  const frame = Math.round(FRAME_SECONDS * rateHz);
  const threshold = loudness(samples) * 0.8;
  const pitches: number[] = [];
  for (let start = 0; start + frame * 2 < samples.length; start += Math.round(HOP_SECONDS * rateHz)) {
    if (loudness(samples.subarray(start, start + frame)) < threshold) continue;
    const pitch = frameF0Hz(samples, start, rateHz);
    if (pitch !== null) pitches.push(pitch);
  }
  pitches.sort((a, b) => a - b);
  return pitches[Math.floor(pitches.length / 2)] ?? Number.NaN;
}

/**
 * Returns the loudness of the differences between neighbouring samples, divided by the loudness of the samples. More
 * treble gives a higher value.
 */
export function brightness(samples: Float32Array): number {
  const slope = samples.map((sample, index) => sample - (samples[index - 1] ?? 0));
  return loudness(slope) / loudness(samples);
}

/**
 * Processes rendered speech: trims silent ends, changes treble and volume, fades both ends. The loops use an index, because
 * an iterator takes ten times as long, and there can be tens of millions of samples.
 */

/** Samples at the ends count as silence if they are below this share of the loudest sample. The share is -44 dB. */
const SILENCE_SHARE = 0.006;
/** Audio to keep before the first and after the last audible sample, so that no consonant is cut off. */
const MARGIN_SECONDS = 0.01;
const FADE_SECONDS = 0.004;
const TREBLE_FROM_HZ = 1500;

/** Returns the largest absolute value of the samples; 0 if there are no samples. */
export function findPeak(samples: Float32Array): number {
  let peak = 0;
  for (let index = 0; index < samples.length; index++) peak = Math.max(peak, Math.abs(samples[index] ?? 0));
  return peak;
}

/** Returns a copy of the samples without silent ends; it is empty if all samples are silent. */
export function withoutSilentEnds(samples: Float32Array, rateHz: number): Float32Array {
  const threshold = findPeak(samples) * SILENCE_SHARE;
  const isAudible = (sample: number): boolean => Math.abs(sample) > threshold;
  const first = samples.findIndex(isAudible);
  if (first === -1) return samples.subarray(0, 0);
  const last = samples.findLastIndex(isAudible);
  const margin = Math.round(MARGIN_SECONDS * rateHz);
  return samples.slice(Math.max(0, first - margin), last + 1 + margin);
}

/**
 * Raises or lowers treble against bass, in place.
 *
 * @param brightness 0 for no change, 1 for about twice the treble, -1 for no treble
 */
export function brighten(samples: Float32Array, rateHz: number, brightness: number): void {
  const coefficient = 1 - Math.exp((-2 * Math.PI * TREBLE_FROM_HZ) / rateHz);
  let bass = 0;
  for (let index = 0; index < samples.length; index++) {
    const sample = samples[index] ?? 0;
    bass += coefficient * (sample - bass);
    samples[index] = sample + brightness * (sample - bass);
  }
}

/** Fades both ends to zero, in place, so that no click is heard where two pieces are joined. */
export function fadeEnds(samples: Float32Array, rateHz: number): void {
  const length = Math.min(Math.round(FADE_SECONDS * rateHz), Math.floor(samples.length / 2));
  for (let index = 0; index < length; index++) {
    const gain = index / length;
    const mirror = samples.length - 1 - index;
    samples[index] = (samples[index] ?? 0) * gain;
    samples[mirror] = (samples[mirror] ?? 0) * gain;
  }
}

/** Multiplies every sample by `gain`, in place. */
export function amplify(samples: Float32Array, gain: number): void {
  for (let index = 0; index < samples.length; index++) samples[index] = (samples[index] ?? 0) * gain;
}

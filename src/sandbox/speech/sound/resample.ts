/** Changes the sample rate without aliasing, in blocks of bounded memory. */
import type { create } from "@alexanderolsen/libsamplerate-js";

/**
 * All rates are multiples of this step. So 0.01 s is a whole number of samples at every rate, and blocks can be cut
 * between whole samples at the old and at the new rate.
 */
export const RATE_STEP_HZ = 100;
/**
 * Seconds of input in a block. A block must fit in the resampler's memory, which has room for about a million input
 * samples and as many output samples.
 */
const BLOCK_SECONDS = 8;
/**
 * Seconds of input to add before and after a block: more than the resampler's filter needs. The output of the added
 * input is discarded.
 */
const CONTEXT_SECONDS = 0.1;

type Resampler = Awaited<ReturnType<typeof create>>;

let shared: Promise<Resampler> | undefined;

function loadResampler(): Promise<Resampler> {
  shared ??= import("@alexanderolsen/libsamplerate-js").then(({ default: library }) =>
    library.create(1, 16000, 48000, { converterType: library.ConverterType.SRC_SINC_FASTEST }),
  );
  return shared;
}

const computeGreatestCommonDivisor = (a: number, b: number): number =>
  b === 0 ? a : computeGreatestCommonDivisor(b, a % b);

/**
 * Converts samples from one rate to another.
 *
 * @param samples mono
 * @param fromHz multiple of {@link RATE_STEP_HZ}
 * @param toHz multiple of {@link RATE_STEP_HZ}
 */
export async function resample(samples: Float32Array, fromHz: number, toHz: number): Promise<Float32Array> {
  if (fromHz === toHz) return samples;
  const engine = await loadResampler();
  if (engine.inputSampleRate !== fromHz) engine.inputSampleRate = fromHz;
  if (engine.outputSampleRate !== toHz) engine.outputSampleRate = toHz;
  // Set the ratio as well, because the library does not update it when the rates change.
  engine.ratio = toHz / fromHz;
  const alignmentSamples = fromHz / computeGreatestCommonDivisor(fromHz, toHz);
  const block = Math.ceil((BLOCK_SECONDS * fromHz) / alignmentSamples) * alignmentSamples;
  const context = Math.ceil((CONTEXT_SECONDS * fromHz) / alignmentSamples) * alignmentSamples;
  const result = new Float32Array(Math.floor((samples.length * toHz) / fromHz));
  for (let start = 0; start < samples.length; start += block) {
    const from = Math.max(0, start - context);
    const piece = engine.simple(samples.slice(from, start + block + context));
    const skip = ((start - from) * toHz) / fromHz;
    const target = (start * toHz) / fromHz;
    const wantedSamples = Math.min((block * toHz) / fromHz, result.length - target);
    result.set(piece.subarray(skip, skip + wantedSamples), target);
  }
  return result;
}

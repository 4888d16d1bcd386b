/** Noise in place of speech: real files, as long as text and speed require, made instantly. */
import { encode } from "../../src/sandbox/speech/encode/encode.ts";
import type { SpeechEngine } from "../../src/sandbox/speech/speech.ts";

export const noiseSeconds = (prompt: string, speed: number): number => (prompt.length * 0.01) / speed;

export const noiseSpeech: SpeechEngine = {
  speak: ({ prompt, speed, output_format: outputFormat, sample_rate: sampleRate }) => {
    const samples = Float32Array.from(
      { length: Math.round(noiseSeconds(prompt, speed) * sampleRate) },
      (_, index) => 0.3 * Math.sin(index * index),
    );
    return Promise.resolve(encode(samples, outputFormat, sampleRate));
  },
  close: () => Promise.resolve(),
};

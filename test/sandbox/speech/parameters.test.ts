/** Measures that speed, volume and pitch change the sound by the requested amount, and nothing else. */
import { afterAll, describe, expect, test } from "vitest";
import type { SpeechRequest } from "../../../src/sandbox/speech/speech.ts";
import { createSpeechEngine } from "../../../src/sandbox/speech/speech.ts";
import { loudness, medianF0Hz, pcmSamples } from "./measure.ts";
import { speechRequest } from "./speech-request.ts";

const RATE_HZ = 16000;
const VOICED_PROMPT = "We were away a year ago, and no one ever knew why you rang early in the morning.";

const engine = createSpeechEngine();
afterAll(() => engine.close());

async function measured(changes: Partial<SpeechRequest>) {
  const { bytes, audioSeconds } = await engine.speak(
    speechRequest({ prompt: VOICED_PROMPT, sample_rate: RATE_HZ, ...changes }),
  );
  const samples = pcmSamples(bytes);
  return { samples, audioSeconds, loudness: loudness(samples), f0Hz: medianF0Hz(samples, RATE_HZ) };
}

test.each([0.5, 0.8, 1.25, 2])("speed %f divides the length", async (speed) => {
  const plain = await measured({});
  const changed = await measured({ speed });
  expect((changed.audioSeconds * speed) / plain.audioSeconds).toBeGreaterThan(0.95);
  expect((changed.audioSeconds * speed) / plain.audioSeconds).toBeLessThan(1.05);
  expect(Math.abs(Math.log2(changed.f0Hz / plain.f0Hz))).toBeLessThan(0.05);
});

test.each([0.5, 2])("volume %f multiplies the amplitude and nothing else", async (volume) => {
  const plain = await measured({});
  const changed = await measured({ volume });
  expect(changed.loudness / plain.loudness).toBeCloseTo(volume, 2);
  expect(changed.samples.length).toBe(plain.samples.length);
  expect(changed.samples.some((sample) => Math.abs(sample) > 0.99)).toBe(false);
});

describe("pitch", () => {
  const cases = (["sophie_en_zh", "kian_en_zh", "quentin_en_zh"] as const).flatMap((voice) =>
    [-12, -5, 4, 12].map((pitch) => ({ voice, pitch })),
  );
  test.each(cases)("$pitch semitones on $voice shift the pitch by as much", async ({ voice, pitch }) => {
    const plain = await measured({ voice });
    const changed = await measured({ voice, pitch });
    const semitones = 12 * Math.log2(changed.f0Hz / plain.f0Hz);
    expect(Math.abs(semitones - pitch)).toBeLessThan(0.7);
    expect(Math.abs(changed.audioSeconds / plain.audioSeconds - 1)).toBeLessThan(0.03);
  });
});

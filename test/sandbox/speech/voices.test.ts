/** Measures that any two voices sound different, and that each differs from speech without a voice. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VOICE_IDS } from "../../../src/contract/voices.ts";
import { createSpeechEngine } from "../../../src/sandbox/speech/speech.ts";
import { brightness, medianF0Hz, pcmSamples } from "./measure.ts";
import { speechRequest } from "./speech-request.ts";

const RATE_HZ = 16000;
const PROMPT = "We were away a year ago, and no one ever knew why.";
/** The smallest audible differences: a third of a semitone, 3 % of the pace, a tenth of the treble. */
const NOTICEABLE = { f0: 2 ** (0.33 / 12) - 1, pace: 0.03, brightness: 0.1 };

interface Heard {
  readonly voice: string;
  readonly bytes: Uint8Array;
  readonly f0: number;
  readonly pace: number;
  readonly brightness: number;
}

const engine = createSpeechEngine();
const heard: Heard[] = [];

beforeAll(async () => {
  const spoken = [undefined, ...VOICE_IDS].map(async (voice) => {
    const { bytes, audioSeconds } = await engine.speak(
      speechRequest({ prompt: PROMPT, voice, sample_rate: RATE_HZ }),
    );
    const samples = pcmSamples(bytes);
    return {
      voice: voice ?? "none",
      bytes,
      f0: medianF0Hz(samples, RATE_HZ),
      pace: audioSeconds,
      brightness: brightness(samples),
    };
  });
  heard.push(...(await Promise.all(spoken)));
}, 180_000);
afterAll(() => engine.close());

function differ(one: Heard, other: Heard): boolean {
  return (["f0", "pace", "brightness"] as const).some(
    (feature) => Math.abs(one[feature] / other[feature] - 1) > NOTICEABLE[feature],
  );
}

describe("the voices", () => {
  test("all speak", () => {
    expect(heard).toHaveLength(VOICE_IDS.length + 1);
    for (const { f0 } of heard) expect(f0).toBeGreaterThan(80);
  });

  test("differ pairwise in pitch, pace or timbre", () => {
    const alike = heard.flatMap((one, index) =>
      heard
        .slice(index + 1)
        .filter((other) => !differ(one, other))
        .map((other) => `${one.voice} and ${other.voice}`),
    );
    expect(alike).toEqual([]);
  });

  test("span more than an octave", () => {
    const pitches = heard.map(({ f0 }) => f0);
    expect(Math.max(...pitches) / Math.min(...pitches)).toBeGreaterThan(2);
  });
});

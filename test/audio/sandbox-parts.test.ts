/** Joins speech of the sandbox, in every format. */
import { afterAll, expect, test } from "vitest";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { createSpeechEngine } from "../../src/sandbox/speech/speech.ts";
import { speechRequest } from "../sandbox/speech/speech-request.ts";
import { describeWithFfprobe, probeAudio } from "../support/ffprobe.ts";
import { joined, type TestPart } from "./join-in-memory.ts";
import { decodeSamples, largestDifference } from "./sound.ts";

const engine = createSpeechEngine();
afterAll(() => engine.close());

const PAUSES = [0.6, 2, 0];
const PROMPTS = [
  "The first part, which is short.",
  "The second: a little longer than the first was.",
  "The end.",
];

async function speech(
  outputFormat: (typeof OUTPUT_FORMATS)[number],
  sampleRate: 8000 | 24000 | 44100,
): Promise<TestPart[]> {
  return Promise.all(
    PROMPTS.map(async (prompt, index) => {
      const { bytes, audioSeconds } = await engine.speak(speechRequest({ prompt, outputFormat, sampleRate }));
      const pauseAfterSeconds = PAUSES[index] ?? 0;
      return { bytes, durationSeconds: audioSeconds, sampleRateHz: sampleRate, pauseAfterSeconds };
    }),
  );
}

/** The largest allowed error of a pause: half a frame of mp3 at 8 kHz, half a packet of Opus, or less than a sample. */
const HALF_FRAME_SECONDS = { wav: 1e-6, pcm: 1e-6, mp3: 0.036, ogg_opus: 0.01 };

describeWithFfprobe("speech in parts", () => {
  test.each(
    OUTPUT_FORMATS.flatMap((format) => ([8000, 24000, 44100] as const).map((rate) => ({ format, rate }))),
  )("is as long in one file as in parts and pauses: $format at $rate Hz", async ({ format, rate }) => {
    const parts = await speech(format, rate);
    const file = await joined(format, parts);
    const probed = await probeAudio(file.bytes, { format, sampleRateHz: rate });
    // ffprobe also counts the first 6.5 ms of Opus, which are not played because the decoder needs them to start.
    const unplayed = format === "ogg_opus" ? 0.0065 : 0;
    expect(probed.durationSeconds).toBeCloseTo(file.durationSeconds + unplayed, 3);
    file.parts.forEach(({ startSeconds, endSeconds }, index) => {
      expect(endSeconds - startSeconds).toBeCloseTo(parts[index]?.durationSeconds ?? 0, 3);
      const next = file.parts[index + 1]?.startSeconds ?? file.durationSeconds;
      const pause = next - endSeconds;
      expect(Math.abs(pause - (PAUSES[index] ?? 0))).toBeLessThanOrEqual(HALF_FRAME_SECONDS[format] + 1e-9);
    });
  });

  test.each(["mp3", "ogg_opus"] as const)("sounds the same joined as in parts: %s", async (format) => {
    const parts = await speech(format, 24000);
    const file = await joined(format, parts);
    const all = await decodeSamples(file.bytes, format);
    const rateHz = format === "mp3" ? 24000 : 48000;
    for (const [index, { bytes }] of parts.entries()) {
      const start = Math.round((file.parts[index]?.startSeconds ?? 0) * rateHz);
      expect(largestDifference(await decodeSamples(bytes, format), all, start)).toBe(0);
    }
  });

  test("is the same file every time", async () => {
    for (const format of OUTPUT_FORMATS) {
      const parts = await speech(format, 24000);
      const [once, again] = await Promise.all([joined(format, parts), joined(format, parts)]);
      expect(again.bytes.equals(once.bytes)).toBe(true);
    }
  });
});

/** Parts that begin at given times of the joined file. The hundredth part must be as exact as the first. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { findLeadingSilences } from "../../src/audio/captions/leading-silence.ts";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { encode } from "../../src/sandbox/speech/encode/encode.ts";
import { createSpeechEngine } from "../../src/sandbox/speech/speech.ts";
import { speechRequest } from "../sandbox/speech/speech-request.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { scratchFolder } from "../support/scratch.ts";
import { joined } from "./join-in-memory.ts";
import { decodeSamples } from "./sound.ts";

const RATE_HZ = 24_000;
/** The largest allowed error of a start: half a frame of mp3 at this rate, half a packet of Opus, or half a sample. */
const HALF_FRAME_SECONDS = { mp3: 0.012, ogg_opus: 0.01, wav: 0.5 / RATE_HZ, pcm: 0.5 / RATE_HZ };

it.each(OUTPUT_FORMATS)(
  "begin within half a frame of their times, the hundredth like the first: %s",
  async (format) => {
    const samples = Float32Array.from(
      { length: 0.31 * RATE_HZ },
      (_, index) => 0.3 * Math.sin(index * index),
    );
    const { bytes, audioSeconds } = await encode(samples, format, RATE_HZ);
    const starts = Array.from({ length: 100 }, (_, index) => 0.777 + index * 0.5131);
    const parts = starts.map((startSeconds) => ({
      bytes,
      durationSeconds: audioSeconds,
      sampleRateHz: RATE_HZ,
      startSeconds,
    }));
    const file = await joined(format, parts);
    for (const [index, start] of starts.entries()) {
      const begins = file.parts[index]?.startSeconds ?? 0;
      expect(Math.abs(begins - start)).toBeLessThanOrEqual(HALF_FRAME_SECONDS[format] + 1e-9);
    }
  },
);

it.each(OUTPUT_FORMATS)("begin as soon as possible if their times have passed: %s", async (format) => {
  const samples = Float32Array.from({ length: RATE_HZ }, (_, index) => 0.3 * Math.sin(index * index));
  const { bytes, audioSeconds } = await encode(samples, format, RATE_HZ);
  const part = { bytes, durationSeconds: audioSeconds, sampleRateHz: RATE_HZ };
  const file = await joined(format, [
    { ...part, startSeconds: 0.5 },
    { ...part, startSeconds: 1 },
    { ...part, startSeconds: 9 },
  ]);
  const [first, second, third] = file.parts;
  const gap = (second?.startSeconds ?? 0) - (first?.endSeconds ?? 0);
  expect(gap).toBeGreaterThanOrEqual(0);
  expect(gap).toBeLessThan(0.08);
  expect(third?.startSeconds).toBeCloseTo(9, 1);
});

const engine = createSpeechEngine();
afterAll(() => engine.close());

describeWithFfprobe("speech", () => {
  it.each(["Every spring, the river comes back.", "Yes.", "Have you heard it?", "Still we wait."])(
    "is heard where its leading silence ends, to 50 ms: %s",
    async (prompt) => {
      const { bytes } = await engine.speak(
        speechRequest({ prompt, outputFormat: "mp3", sampleRate: RATE_HZ }),
      );
      const path = join(scratchFolder(), "part");
      writeFileSync(path, bytes);
      const part = { path, durationSeconds: 0, sampleRateHz: RATE_HZ, pauseAfterSeconds: 0 };
      const [lead = 0] = await findLeadingSilences("mp3", [part], new AbortController().signal);
      const samples = await decodeSamples(bytes, "mp3");
      const loud = samples.findIndex((sample) => Math.abs(sample) > 500) / RATE_HZ;
      expect(Math.abs(lead - loud)).toBeLessThan(0.05);
    },
  );
});

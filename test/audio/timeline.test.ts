/** Parts that begin at given times of the joined file. The hundredth part must be as exact as the first. */
import { expect, it } from "vitest";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { encode } from "../../src/sandbox/speech/encode/encode.ts";
import { joined } from "./join-in-memory.ts";

const RATE_HZ = 24_000;
/** The largest allowed error of a start: half a frame of mp3 at this rate, half a packet of Opus, or half a sample. */
const HALF_FRAME_SECONDS = { mp3: 0.012, ogg_opus: 0.01, wav: 0.5 / RATE_HZ, pcm: 0.5 / RATE_HZ };

it.each(OUTPUT_FORMATS)("begin within half a frame of their times, also the last: %s", async (format) => {
  const samples = Float32Array.from({ length: 0.31 * RATE_HZ }, (_, index) => 0.3 * Math.sin(index * index));
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
});

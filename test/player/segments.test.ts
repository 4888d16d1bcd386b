/**
 * Segments of long sounds, compared with a decoder: one after another they are the whole sound, without gaps or
 * clicks.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadCutter } from "../../src/player/open-audio-file.ts";
import type { PieceLoader } from "../../src/player/pieces.ts";
import { type CompleteSound, createSegmentReader, type Segment } from "../../src/player/segment-reader.ts";
import type { Format } from "../../src/player/shown-result.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { joinLong } from "./long-narration.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";

const HERTZ = 24_000;

function decoded(bytes: Uint8Array, format: string[] = []): Int16Array {
  const args = ["-v", "error", ...format, "-i", "-", "-f", "s16le", "-ac", "1", "-ar", `${HERTZ}`, "-"];
  const { stdout } = spawnSync("ffmpeg", args, { input: bytes, maxBuffer: 1 << 30 });
  return new Int16Array(stdout.buffer, stdout.byteOffset, Math.floor(stdout.byteLength / 2));
}

const piecesOfFile = (path: string): PieceLoader => {
  const bytes = new Uint8Array(readFileSync(path));
  return { sizeBytes: bytes.length, read: async (start, length) => bytes.slice(start, start + length) };
};

describeWithFfprobe("a long sound in segments", () => {
  let server: ServerUnderTest;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.close());

  async function open(
    format: Format,
    seconds: number,
  ): Promise<{ source: CompleteSound; whole: Int16Array }> {
    const joined = await joinLong(server, format === "ogg" ? "ogg_opus" : format, seconds);
    const pieces = piecesOfFile(joined.path);
    const sound = {
      uri: "",
      path: joined.path,
      format,
      sizeBytes: pieces.sizeBytes,
      seconds: joined.durationSeconds,
      sampleRateHz: HERTZ,
      companionsBaseUri: null,
      chapter: "",
    };
    const raw = format === "pcm" ? ["-f", "s16le", "-ar", `${HERTZ}`, "-ac", "1"] : [];
    const whole = decoded(readFileSync(joined.path), raw);
    return {
      source: createSegmentReader(pieces, await loadCutter(sound, pieces), joined.durationSeconds),
      whole,
    };
  }

  const samplesOf = (segment: Segment): Int16Array =>
    decoded(segment.bytes).subarray(
      Math.round(segment.leadInSeconds * HERTZ),
      Math.round((segment.leadInSeconds + segment.endSeconds - segment.startSeconds) * HERTZ),
    );

  /**
   * Returns the largest difference between the samples of one segment and the samples of the whole sound from `at` on.
   */
  function difference(part: Int16Array, whole: Int16Array, at: number): number {
    let most = 0;
    for (let index = 0; index < part.length; index += 1) {
      most = Math.max(most, Math.abs((part[index] ?? 0) - (whole[at + index] ?? 0)));
    }
    return most;
  }

  it.each([
    ["wav", 50],
    ["pcm", 50],
    ["mp3", 150],
    ["ogg", 150],
  ] as const)("make up the whole, to the sample, for %s", async (format, seconds) => {
    const { source, whole } = await open(format, seconds);
    let [at, count] = [0, 0];
    for (;;) {
      const segment = await source.readAt(at);
      expect(segment.startSeconds, `segment ${count}`).toBeCloseTo(at, 3);
      const part = samplesOf(segment);
      expect(part.length).toBeCloseTo((segment.endSeconds - segment.startSeconds) * HERTZ, -1);
      expect(difference(part, whole, Math.round(segment.startSeconds * HERTZ)), `segment ${count}`).toBe(0);
      count += 1;
      at = segment.endSeconds;
      if (segment.isLast) break;
    }
    expect(count).toBeGreaterThanOrEqual(3);
    expect(at).toBeCloseTo(whole.length / HERTZ, 1);
  });

  it.each(["mp3", "ogg"] as const)(
    "is found for a position before which nothing was read, for %s",
    async (format) => {
      const { source } = await open(format, 300);
      for (const moment of [295, 160, 70, 1]) {
        const { startSeconds: from, endSeconds: to } = await source.readAt(moment);
        expect(from).toBeLessThanOrEqual(moment + 0.5);
        expect(to).toBeGreaterThan(moment - 0.5);
      }
    },
  );
});

/** Seeks in joined files: a player finds the start of each chapter, and files may be larger than 4 GiB. */
import { execFileSync } from "node:child_process";
import { closeSync, openSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { joinAudio } from "../../src/audio/join.ts";
import { buildWavHeaderAndTrailer } from "../../src/audio/raw/wav-file.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { scratchFolder } from "../support/scratch.ts";
import { joined } from "./join-in-memory.ts";
import { noise, wav } from "./make-wav.ts";
import { encodedNoise } from "./sound.ts";

const RATE = 24000;
const PAUSE_SECONDS = 1;

/** Seeks to `seconds` as a player does. Returns the number of seconds from there to the beginning of the sound. */
function soundAfterJump(path: string, seconds: number): number {
  const jump = ["-v", "error", "-ss", `${seconds}`, "-i", path, "-t", "1", "-ac", "1", "-ar", `${RATE}`];
  const raw = execFileSync("ffmpeg", [...jump, "-f", "s16le", "-"]);
  const samples = new Int16Array(Uint8Array.from(raw).buffer, 0, Math.floor(raw.byteLength / 2));
  const firstSound = samples.findIndex((sample) => Math.abs(sample) > 1000);
  return firstSound === -1 ? Number.POSITIVE_INFINITY : firstSound / RATE;
}

const SOUNDS = {
  mp3: () => encodedNoise({ seconds: 3, rateHz: RATE, channels: 1 }, ["-f", "mp3", "-b:a", "64k"]),
  "mp3 of variable bitrate": () =>
    encodedNoise({ seconds: 3, rateHz: 44100, channels: 2 }, ["-f", "mp3", "-q:a", "4"]),
  ogg_opus: () =>
    encodedNoise({ seconds: 3, rateHz: 48000, channels: 1 }, ["-f", "ogg", "-c:a", "libopus", "-b:a", "32k"]),
  wav: async () => wav(noise(3 * RATE * 2)),
};

describeWithFfprobe("a jump", () => {
  test.each(Object.entries(SOUNDS))("reaches the chapter: %s", async (name, sound) => {
    const format = name === "wav" || name === "ogg_opus" ? name : "mp3";
    const bytes = await sound();
    const parts = Array.from({ length: 60 }, () => ({ bytes, pauseAfterSeconds: PAUSE_SECONDS }));
    const chapters = [0, 17, 59].map((firstPart) => ({ title: `${firstPart}`, firstPart }));
    const file = await joined(format, parts, { chapters });
    const path = join(scratchFolder(), "joined");
    writeFileSync(path, file.bytes);
    for (const { startSeconds } of file.chapters.slice(1)) {
      // A seek to half a second before the chapter lands in silence. The sound must begin half a second later. The
      // allowed error is about one frame.
      expect(Math.abs(soundAfterJump(path, startSeconds - 0.5) - 0.5)).toBeLessThan(0.03);
      expect(soundAfterJump(path, startSeconds)).toBeLessThan(0.03);
    }
  });

  test("finds the end of a wav file of 5 GB", async () => {
    const format = {
      encoding: 1,
      channels: 1,
      sampleRateHz: RATE,
      bitsPerSample: 16,
      validBits: 16,
      channelMask: 0,
    };
    const dataBytes = 5_000_000_000;
    const { header } = buildWavHeaderAndTrailer(format, dataBytes);
    const path = join(scratchFolder(), "long.wav");
    const file = openSync(path, "w");
    writeSync(file, header);
    closeSync(file);
    // Extend the file without writing data. It is then sparse, so its 5 GB take no space on the disk.
    truncateSync(path, header.byteLength + dataBytes);
    const entries = ["-show_entries", "format=duration", "-of", "csv=p=0"];
    const reported = execFileSync("ffprobe", ["-v", "error", ...entries, path], { encoding: "utf8" });
    expect(Number(reported)).toBeCloseTo(dataBytes / 2 / RATE, 3);
    const part = { path, durationSeconds: 0, sampleRateHz: 0, pauseAfterSeconds: 0 };
    let writtenBytes = 0;
    const stop = new AbortController();
    const write = async (bytes: Uint8Array): Promise<void> => {
      if (writtenBytes === 0) expect(Buffer.from(bytes.subarray(0, 4)).toString()).toBe("RF64");
      writtenBytes += bytes.byteLength;
      if (writtenBytes > 1_000_000) stop.abort(new Error("enough"));
    };
    const joining = joinAudio({
      format: "wav",
      parts: [part, part],
      chapters: [],
      write,
      signal: stop.signal,
    });
    await expect(joining).rejects.toThrow("enough");
  });
});

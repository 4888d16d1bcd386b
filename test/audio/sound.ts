/** Makes and analyses sound with ffmpeg and other installed programs, without `src/audio`. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "vitest";
import { missing, skipBecause } from "../support/skip-because.ts";

const MAX_OUTPUT = 256 * 1024 * 1024;

/** Calls `use` with a new folder that holds the audio as the file `audio`. Then deletes the folder. */
async function besides<T>(audio: Uint8Array, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "sound-"));
  try {
    await writeFile(join(folder, "audio"), audio);
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const run = (program: string, args: readonly string[], cwd: string) =>
  promisify(execFile)(program, args, { cwd, encoding: "buffer", maxBuffer: MAX_OUTPUT, timeout: 20_000 });

/** Parameters of loud white noise. The same seed gives the same noise. */
export interface Noise {
  readonly seconds: number;
  readonly rateHz: number;
  readonly channels: number;
  readonly seed?: number;
}

const cache = new Map<string, Promise<Buffer>>();

/**
 * Encodes noise with ffmpeg, and caches the result for the same arguments. Noise is the hardest sound for joins,
 * because every sample that leaks into another part is audible.
 *
 * @param encoder ffmpeg's arguments, such as `["-f", "mp3", "-b:a", "64k"]`
 */
export function encodedNoise(noise: Noise, encoder: readonly string[]): Promise<Buffer> {
  const key = JSON.stringify([noise, encoder]);
  const known = cache.get(key) ?? encode(noise, encoder);
  cache.set(key, known);
  return known;
}

function encode(noise: Noise, encoder: readonly string[]): Promise<Buffer> {
  const { seconds, rateHz, channels, seed = 1 } = noise;
  const source = `anoisesrc=d=${seconds}:r=${rateHz}:a=0.9:seed=${seed}`;
  const graph = channels === 1 ? `${source}0` : `${source}0[a];${source}1[b];[a][b]amerge`;
  const input = ["-v", "error", "-f", "lavfi", "-i", graph];
  return besides(new Uint8Array(0), async (folder) => {
    await run("ffmpeg", [...input, "-map_metadata", "-1", "-bitexact", ...encoder, "encoded"], folder);
    return readFile(join(folder, "encoded"));
  });
}

/**
 * Decodes audio to 16-bit samples with ffmpeg. The samples of the channels are interleaved. Opus is decoded with the
 * reference decoder `libopus`, because ffmpeg's own decoder gives other samples.
 */
export function decodeSamples(audio: Uint8Array, format: "mp3" | "ogg_opus"): Promise<Int16Array> {
  const decoder = format === "ogg_opus" ? ["-c:a", "libopus"] : [];
  return besides(audio, async (folder) => {
    const { stdout } = await run(
      "ffmpeg",
      ["-v", "quiet", ...decoder, "-i", "audio", "-f", "s16le", "-"],
      folder,
    );
    return new Int16Array(Uint8Array.from(stdout).buffer, 0, Math.floor(stdout.byteLength / 2));
  });
}

/** Decodes mp3 with mpg123. Keeps the samples that the encoder added at both ends. */
export function heardByMpg123(audio: Uint8Array): Promise<Int16Array> {
  return besides(audio, async (folder) => {
    const { stdout } = await run("mpg123", ["-q", "--no-gapless", "-e", "s16", "-s", "audio"], folder);
    return new Int16Array(Uint8Array.from(stdout).buffer, 0, Math.floor(stdout.byteLength / 2));
  });
}

/**
 * Returns the largest difference between `alone` and the samples of `joined` from `offset` on. Missing samples count
 * as the largest difference.
 */
export function largestDifference(alone: Int16Array, joined: Int16Array, offset: number): number {
  let largest = 0;
  for (let index = 0; index < alone.length; index += 1) {
    const other = joined[offset + index];
    const difference = other === undefined ? Number.MAX_VALUE : Math.abs((alone[index] ?? 0) - other);
    if (difference > largest) largest = difference;
  }
  return largest;
}

/** Runs a program on a file. Returns what it prints, including errors. */
export function outputOf(program: string, args: readonly string[], audio: Uint8Array): Promise<string> {
  return besides(audio, async (folder) => {
    const { stdout, stderr } = spawnSync(program, [...args, "audio"], { cwd: folder, encoding: "utf8" });
    return `${stdout}${stderr}`;
  });
}

/** Like `test`, but skips the test if the program is not installed. */
export function testWith(program: string, name: string, body: () => Promise<void>): void {
  test(name, skipBecause(missing(program)), body);
}

/** Makes and analyses sound with ffmpeg and the other installed programs. Knows nothing about joining. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "vitest";
import { missing, skipBecause } from "../support/skip-because.ts";

const MAX_OUTPUT = 256 * 1024 * 1024;

/** Runs a program in a new folder that holds `audio`. */
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

/** Loud white noise, always the same for a seed, as arguments of ffmpeg. */
export interface Noise {
  readonly seconds: number;
  readonly rateHz: number;
  readonly channels: number;
  readonly seed?: number;
}

const cache = new Map<string, Promise<Buffer>>();

/**
 * Encodes noise with ffmpeg, once for each request. Noise is the hardest sound for joins, because every sample that
 * leaks into another part is audible.
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
 * Decodes to 16-bit samples, one channel after another, with ffmpeg; Opus with the reference decoder, because
 * ffmpeg's differs.
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

/** Decodes mp3 with mpg123, including the samples that encoders added. */
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

/** Returns what a program prints about a file, including its errors. */
export function outputOf(program: string, args: readonly string[], audio: Uint8Array): Promise<string> {
  return besides(audio, async (folder) => {
    const { stdout, stderr } = spawnSync(program, [...args, "audio"], { cwd: folder, encoding: "utf8" });
    return `${stdout}${stderr}`;
  });
}

/** Like `test`, but skipped if a program that analyses files is missing. */
export function testWith(program: string, name: string, body: () => Promise<void>): void {
  test(name, skipBecause(missing(program)), body);
}

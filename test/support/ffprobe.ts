/** Inspects audio files with ffprobe, and skips tests if it is missing. */
import { execFile } from "node:child_process";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe } from "vitest";
import { z } from "zod";
import type { OutputFormat } from "../../src/contract/audio-format.ts";
import { missing, skipBecause } from "./skip-because.ts";

/** The measured properties of a file. */
export interface ProbedAudio {
  /** ffmpeg's name of the codec: `mp3`, `pcm_s16le`, `opus`. */
  readonly codec: string;
  /** For Opus, the input sample rate that the header names, because decoders always play Opus at 48 kHz. */
  readonly sampleRateHz: number;
  readonly durationSeconds: number;
  readonly channels: number;
}

/** The properties stated by the caller. Used only to probe raw pcm, which has no header. */
export interface ClaimedAudio {
  readonly format: OutputFormat;
  readonly sampleRateHz: number;
}

const probeSchema = z.object({
  streams: z.tuple([
    z.object({
      codec_name: z.string(),
      sample_rate: z.coerce.number(),
      channels: z.number(),
      duration: z.coerce.number(),
    }),
  ]),
});

const OPUS_HEAD_BYTES = 64;

async function opusInputRateHz(path: string): Promise<number> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(OPUS_HEAD_BYTES), 0, OPUS_HEAD_BYTES, 0);
  const head = buffer.subarray(0, bytesRead).indexOf("OpusHead");
  if (head === -1) throw new Error("no OpusHead at the beginning of the file");
  return buffer.readUInt32LE(head + 12);
}

async function probeFile(path: string, claimed: ClaimedAudio): Promise<ProbedAudio> {
  const layout =
    claimed.format === "pcm" ? ["-f", "s16le", "-ar", `${claimed.sampleRateHz}`, "-ac", "1"] : [];
  const entries = ["-show_entries", "stream=codec_name,sample_rate,channels,duration", "-of", "json"];
  const { stdout } = await promisify(execFile)("ffprobe", ["-v", "error", ...layout, ...entries, path]);
  const [stream] = probeSchema.parse(JSON.parse(stdout)).streams;
  return {
    codec: stream.codec_name,
    sampleRateHz: claimed.format === "ogg_opus" ? await opusInputRateHz(path) : stream.sample_rate,
    durationSeconds: stream.duration,
    channels: stream.channels,
  };
}

/**
 * Measures audio with ffprobe.
 *
 * @param source a file's path, or its bytes
 */
export async function probeAudio(source: string | Uint8Array, claimed: ClaimedAudio): Promise<ProbedAudio> {
  if (typeof source === "string") return probeFile(source, claimed);
  const folder = await mkdtemp(join(tmpdir(), "probe-"));
  try {
    const path = join(folder, "audio");
    await writeFile(path, source);
    return await probeFile(path, claimed);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `describe` for tests that need ffprobe. */
export function describeWithFfprobe(name: string, tests: () => void): void {
  describe(name, skipBecause(missing("ffprobe", "ffmpeg")), tests);
}

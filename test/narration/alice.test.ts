/**
 * Narrates a whole chapter through the sandbox in every format. The file is as long as its parts and pauses, and
 * contains each part as it sounds alone.
 */
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { OUTPUT_FORMATS, type OutputFormat } from "../../src/contract/audio-format.ts";
import { chooseEncoderRateHz, encode } from "../../src/sandbox/speech/encode/encode.ts";
import {
  createSpeechEngine,
  type SpeechEngine,
  type SpeechRequest,
  type SpokenAudio,
} from "../../src/sandbox/speech/speech.ts";
import { decodeSamples, largestDifference } from "../audio/sound.ts";
import { COMPILED } from "../support/bin-under-test.ts";
import { openClientAll, openFoldersAll, openSandboxAll } from "../support/e2e-setup.ts";
import { describeWithFfprobe, probeAudio } from "../support/ffprobe.ts";
import { startToolClient } from "../support/tool-client.ts";
import { taskOf } from "../support/tool-result.ts";
import { type NarrationOutput, narrationOf } from "./narrator.ts";

const ASSETS = join(import.meta.dirname, "..", "..", "assets");
const CHAPTER = "alice-chapter-1.md";
const RATE_HZ = 24_000;

/** The rates at which decoders play a format; Opus is always 48 kHz. */
const PLAYED_HZ: Readonly<Record<OutputFormat, number>> = {
  mp3: RATE_HZ,
  wav: RATE_HZ,
  pcm: RATE_HZ,
  ogg_opus: 48_000,
};

/** The largest allowed deviation of a pause: half a frame of mp3, half a packet of Opus. */
const JOINT_SECONDS: Readonly<Record<OutputFormat, number>> = {
  mp3: 0.0121,
  wav: 0.5 / RATE_HZ,
  pcm: 0.5 / RATE_HZ,
  ogg_opus: 0.0101,
};

const WAV_HEADER_BYTES = 44;

async function played(bytes: Buffer, format: OutputFormat): Promise<Int16Array> {
  if (format === "mp3" || format === "ogg_opus") return await decodeSamples(bytes, format);
  // Stop at the end that the header states, because title and author follow the samples.
  const samples =
    format === "wav"
      ? bytes.subarray(WAV_HEADER_BYTES, WAV_HEADER_BYTES + bytes.readUInt32LE(WAV_HEADER_BYTES - 4))
      : bytes;
  return new Int16Array(Uint8Array.from(samples).buffer);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/**
 * Returns whether `whole` contains exactly the samples of `sound` at the position `at`. Compares bytes, which is fast
 * enough for thousands of positions.
 */
const liesAt = (sound: Int16Array, whole: Int16Array, at: number): boolean =>
  at >= 0 && bytesOf(sound).equals(bytesOf(whole.subarray(at, at + sound.length)));

/**
 * Returns the position, in samples, at which a part begins in the whole narration, or -1. Searches at most `tolerance`
 * samples from the expected position.
 */
function placeOf(part: Int16Array, whole: Int16Array, expected: number, tolerance: number): number {
  const beginning = part.subarray(0, 20_000);
  for (let off = 0; off <= tolerance; off += 1) {
    for (const at of [expected + off, expected - off]) {
      if (liesAt(beginning, whole, at)) return at;
    }
  }
  return -1;
}

/** Synthesises each part once for all formats, because speech takes longer than encoding. */
function speaksOnce(): SpeechEngine {
  const engine = createSpeechEngine();
  const spoken = new Map<string, Promise<SpokenAudio>>();
  const speakOnce = (request: SpeechRequest): Promise<SpokenAudio> => {
    const known = spoken.get(request.prompt) ?? engine.speak(request);
    spoken.set(request.prompt, known);
    return known;
  };
  return {
    speak: async (request) => {
      const { output_format: outputFormat, sample_rate: sampleRate } = request;
      expect(chooseEncoderRateHz(outputFormat, sampleRate)).toBe(sampleRate);
      const { bytes } = await speakOnce({ ...request, output_format: "pcm" });
      const samples = Float32Array.from(await played(Buffer.from(bytes), "pcm"), (sample) => sample / 32_768);
      return await encode(samples, outputFormat, sampleRate);
    },
    close: () => engine.close(),
  };
}

describeWithFfprobe("Alice's first chapter", () => {
  const sandbox = openSandboxAll({ speech: speaksOnce(), processingSeconds: 0.02, timeScale: 0.01 });
  const testFolders = openFoldersAll();
  const client = openClientAll(() =>
    startToolClient(
      testFolders.env(sandbox, { ...COMPILED, AUDIO_TIME_SCALE: "0.02", AUDIO_INPUT_DIR: ASSETS }),
    ),
  );

  /** Returns the audio of each part in the order of the plan. The narration's table of parts names the tasks. */
  async function partsOf(narrationId: string): Promise<Array<{ bytes: Buffer; seconds: number }>> {
    const contents = await client.readText(`audio://narrations/${narrationId}`);
    const ids = [...contents.matchAll(/^\| \d+ \| saved \| 1 \| (\S+) \|/gm)].map(([, id = ""]) => id);
    return await Promise.all(
      ids.map(async (task_id) => {
        const { audio, audio_seconds } = taskOf(await client.call("get_task", { task_id }));
        return { bytes: await readFile(audio?.path ?? ""), seconds: audio_seconds ?? 0 };
      }),
    );
  }

  /**
   * Narrates with the voice and speed that the sandbox synthesises fastest, because only the joints matter. Repeats
   * the call until the narration has ended, because a busy machine is slow.
   */
  async function narrated(output_format: OutputFormat): Promise<NarrationOutput> {
    const made = { voice: "quentin_en_zh", output_format, speed: 2 };
    const args = { file: CHAPTER, ...made, max_credits: 5000, wait_seconds: 40 };
    for (let calls = 1; ; calls += 1) {
      const shownNarration = narrationOf(await client.call("narrate", args));
      if (shownNarration.status !== "running" || calls === 5) return shownNarration;
    }
  }

  it.for(OUTPUT_FORMATS)("%s", { timeout: 240_000 }, async (format) => {
    const done = await narrated(format);
    expect(done).toMatchObject({ status: "finished", problems: [] });
    const [file] = done.files;
    const bytes = await readFile(file?.path ?? "");
    const parts = await partsOf(done.narration_id);
    expect(parts.length).toBe(done.parts.total);
    expect(parts.length).toBeGreaterThan(8);
    const playedHz = PLAYED_HZ[format];
    const whole = await played(bytes, format);
    // The stated duration may differ by half a millisecond, because it is rounded to whole milliseconds.
    expect(Math.abs(whole.length / playedHz - (file?.duration_seconds ?? 0))).toBeLessThan(0.0006);
    const probed = await probeAudio(file?.path ?? "", { format, sampleRateHz: RATE_HZ });
    expect(Math.abs(probed.durationSeconds - (file?.duration_seconds ?? 0))).toBeLessThan(0.02);

    // Every pause of this chapter is known: 2 s before the first words after its heading, 0.6 s between paragraphs,
    // or none.
    let end = 0;
    for (const [index, part] of parts.entries()) {
      const sound = await played(part.bytes, format);
      const joint = JOINT_SECONDS[format] * playedHz * 2 + 1;
      const offsets = (index === 0 ? [0] : [0, 0.6, 1.5, 2]).map((pause) =>
        placeOf(sound, whole, end + Math.round(pause * playedHz), joint),
      );
      const offset = Math.max(...offsets);
      expect(offset, `part ${index + 1} of ${basename(file?.path ?? "")}`).toBeGreaterThanOrEqual(0);
      expect(largestDifference(sound, whole, offset)).toBe(0);
      end = offset + sound.length;
    }
    expect(whole.length - end).toBeLessThanOrEqual(JOINT_SECONDS[format] * 2 * playedHz + 1);
  });
});

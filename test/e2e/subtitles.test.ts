/**
 * Narrates a film's subtitles with the built bin. Each part is heard at the time of its cue, and a retake corrects a
 * late part.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { encode } from "../../src/sandbox/speech/encode/encode.ts";
import type { SpeechEngine } from "../../src/sandbox/speech/speech.ts";
import { decodeSamples } from "../audio/sound.ts";
import { type NarrationOutput, narrationOf } from "../narration/narrator.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openClientAll, openFoldersAll, openSandboxAll } from "../support/e2e-setup.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { runCommand } from "../support/run-command.ts";
import { startToolClient } from "../support/tool-client.ts";
import { resultTextOf } from "../support/tool-result.ts";

const planned = z.looseObject({ message: z.string() });

const SECONDS_A_CHARACTER = 0.05;

/**
 * The silence before and after each noise, like that of speech. In an mp3, the encoder's delay takes the place of some
 * of the silence before the noise.
 */
const EDGE_SECONDS = 0.06;

/** Speaks noise between two silences. Its length follows from the text, and its first sample can be found exactly. */
const noises: SpeechEngine = {
  speak: ({ prompt, output_format: outputFormat, sample_rate: sampleRate, speed }) => {
    const length = Math.round((prompt.length * SECONDS_A_CHARACTER * sampleRate) / speed);
    const edge = EDGE_SECONDS * sampleRate;
    const samples = Float32Array.from({ length }, (_, index) =>
      index < edge || index >= length - edge ? 0 : 0.5 * Math.sin(index * index),
    );
    return Promise.resolve(encode(samples, outputFormat, sampleRate));
  },
  close: () => Promise.resolve(),
};

const STARTS = [1.5, 4.02, 7.333, 10, 11.2, 14.5];
/** The speech of cue 6 takes 1.9 seconds, but cue 7 begins 1.2 seconds after cue 6. */
const FILM = `\ufeff1\r
00:00:01,500 --> 00:00:02,900\r
The rain had been falling\r
\r
2\r
00:00:02,950 --> 00:00:03,600\r
all of the night.\r
\r
3\r
00:00:04,020 --> 00:00:05,000\r
<i>Nobody</i> came.\r
\r
4\r
00:00:07,333 --> 00:00:08,000\r
{\\an8}- Hello?\r
- Is anybody there?\r
\r
5\r
00:00:08,500 --> 00:00:09,000\r
[Thunder]\r
\r
6\r
00:00:10,000 --> 00:00:10,900\r
We should leave this house right away.\r
\r
7\r
00:00:11,200 --> 00:00:12,000\r
Quickly now.\r
\r
8\r
00:00:14,500 --> 00:00:15,500\r
Gone.\r
`;

const RATE_HZ = 24_000;
const LOUD = 1000;
const SILENCE_SECONDS = 0.02;

/** Returns the times, in seconds, at which sound begins after silence. */
function onsetsIn(samples: Int16Array, rateHz: number): number[] {
  const onsets: number[] = [];
  let lastLoud = Number.NEGATIVE_INFINITY;
  for (const [index, sample] of samples.entries()) {
    if (Math.abs(sample) < LOUD) continue;
    if (index - lastLoud > SILENCE_SECONDS * rateHz) onsets.push(index / rateHz);
    lastLoud = index;
  }
  return onsets;
}

describeWithFfprobe("subtitles", () => {
  const sandbox = openSandboxAll({ processingSeconds: 0.02, timeScale: 0.001, speech: noises });
  const testFolders = openFoldersAll();
  const textsDir = (): string => join(testFolders.root, "texts");
  beforeAll(() => {
    mkdirSync(textsDir());
    writeFileSync(join(textsDir(), "film.srt"), FILM);
  });
  const client = openClientAll(() =>
    startToolClient(
      testFolders.env(sandbox, { ...FAST, AUDIO_INPUT_DIR: textsDir(), AUDIO_CAPTIONS: "both" }),
    ),
  );

  async function narrateToEnd(args: Record<string, unknown>): Promise<NarrationOutput> {
    const call = { ...args, max_credits: 2000, wait_seconds: 50 };
    return narrationOf(await client.call("narrate", call));
  }

  async function onsets(path: string, format: string): Promise<number[]> {
    const bytes = await readFile(path);
    if (format === "mp3") return onsetsIn(await decodeSamples(bytes, "mp3"), RATE_HZ);
    if (format === "ogg_opus") return onsetsIn(await decodeSamples(bytes, "ogg_opus"), 48_000);
    const samples = format === "wav" ? bytes.subarray(44, 44 + bytes.readUInt32LE(40)) : bytes;
    return onsetsIn(new Int16Array(Uint8Array.from(samples).buffer), RATE_HZ);
  }

  it("are planned free of charge: cues, parts, the timeline, and which cues will be late", async () => {
    const outcome = await client.call("narrate", { file: "film.srt" });
    const words = resultTextOf(outcome);
    expect(narrationOf(outcome).parts.total).toBe(6);
    expect(words).toContain("8 cues in 6 parts, each at the time of its first cue, on a timeline of 0:00:15");
    expect(words).toMatch(
      /2 parts are estimated to run into the next cue.*: cue 1 \(speed 1\.2\), cue 6 \(no speed is fast enough\)/,
    );
    expect(words).toContain('Not spoken: a sound in brackets ("[Thunder]").');
  });

  it.each(["mp3", "wav", "pcm", "ogg_opus"])(
    "are heard at the times of their cues, to 50 ms: %s",
    { timeout: 90_000 },
    async (format) => {
      const done = await narrateToEnd({ file: "film.srt", output_format: format });
      expect(done.status).toBe("finished");
      const [file] = done.files;
      const begins = await onsets(file?.path ?? "", format);
      expect(begins).toHaveLength(STARTS.length);
      for (const [index, start] of STARTS.entries()) {
        // The fourth part takes longer than the 1.2 s until the next cue. The fifth part begins late by the difference.
        const late = index === 4 ? 38 * SECONDS_A_CHARACTER - 1.2 : 0;
        // The server cannot measure the silence at the beginning of an Opus part. It therefore starts the silence at
        // the time of the cue, and the sound follows.
        const edge = format === "ogg_opus" || late > 0 ? EDGE_SECONDS : 0;
        expect(Math.abs((begins[index] ?? 0) - start - edge - late), `part ${index + 1}`).toBeLessThan(
          0.05 + (late > 0 ? 0.07 : 0),
        );
      }
      expect(done.problems).toMatchObject([{ part: 4, code: "late" }]);
      expect(done.problems[0]?.message).toMatch(
        /^Cue 7 begins 0\.[78] s late: this part is too long; speed 1\.[78]5? would fit \(retakes, quote "cue 6"\)/,
      );
    },
  );

  it("correct a late cue by a retake with the speed that the result names, and pay only for that part", async () => {
    const before = await narrateToEnd({ file: "film.srt", output_format: "wav" });
    const speed = Number(/speed (\d\.\d+)/.exec(before.problems[0]?.message ?? "")?.[1]);
    const retakes = [{ quote: "cue 6", speed }];
    const { narration_id } = before;
    const plan = await client.call("narrate", { narration_id, retakes });
    expect(resultTextOf(plan)).toContain("1 part to be made");
    expect(resultTextOf(plan)).not.toContain("estimated to run into the next cue");
    const after = await narrateToEnd({ narration_id, retakes });
    expect(after.problems).toEqual([]);
    expect(after.credits.charged - before.credits.charged).toBe(10);
    const begins = await onsets(after.files[0]?.path ?? "", "wav");
    for (const [index, start] of STARTS.entries()) expect(begins[index]).toBeCloseTo(start, 3);

    const edits = [{ quote: "Nobody", replacement: "No one" }];
    const edited = await client.call("narrate", { narration_id, edits });
    expect(narrationOf(edited).parts).toMatchObject({ total: 6, already_paid: 5 });
    expect(resultTextOf(edited)).not.toContain("cue 6");
  });

  it("have captions of both kinds beside the audio, with the times of the sound", async () => {
    const { files } = await narrateToEnd({ file: "film.srt", output_format: "wav", file_name: "film" });
    const { captions_path = "", srt_path = "" } = files[0] ?? {};
    expect([captions_path, srt_path].map((path) => extname(path))).toEqual([".vtt", ".srt"]);
    expect(await readFile(captions_path, "utf8")).toMatch(/^WEBVTT\n/);
    const srt = await readFile(srt_path, "utf8");
    expect(srt).toMatch(
      /^1\n00:00:01,500 --> 00:00:03,590\nThe rain had been falling all of the\nnight\.\n\n2\n/,
    );
    expect(srt).toContain("\n\n3\n00:00:07,333 --> ");
  });

  it("are made by the command, too, with a speed after the take", async () => {
    const film = join(testFolders.root, "texts", "film.srt");
    const env = testFolders.env(sandbox, FAST);
    const args = ["narrate", film, "--output-format", "pcm", "--retake", "1@1.8=cue 6", "--json"];
    const { stdout } = await runCommand(args, env);
    const plan = planned.parse(JSON.parse(stdout));
    expect(plan.message).toContain("8 cues in 6 parts");
    expect(plan.message).not.toContain("cue 6 (");
    expect(plan.message).toContain("1 part in another take or at another speed.");
  });

  it("are recognised when pasted, and refused in a prompt before anything is sent", async () => {
    const text = FILM.replace("\ufeff", "");
    const plan = await client.call("narrate", { text, speed: 1.1 });
    expect(resultTextOf(plan)).toContain("8 cues in 6 parts");
    const outcome = await client.call("generate_audio", { prompt: text });
    expect(outcome.isError).toBe(true);
    expect(resultTextOf(outcome)).toMatch(/prompt holds subtitles.*narrate/);
  });
});

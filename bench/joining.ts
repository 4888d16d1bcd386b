/** Measures joining eight hours of speech in each format, and the captions for it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { OUTPUT_FORMATS, type OutputFormat } from "../src/contract/audio-format.ts";
import { createSpeechEngine, type SpeechEngine } from "../src/sandbox/speech/speech.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";

const HOURS = 8;
const RATE_HZ = 24000;
/** Eight hours of the two that are not compressed are 1.4 GB each, so they are measured on one. */
const UNCOMPRESSED_HOURS = 1;
const ROUNDS_MAX = 3;
const SENTENCE = "The wind had turned to the north, and with it came the smell of snow and of smoke. ";
const SENTENCES = 15;

const taken = z.object({
  joinSeconds: z.number(),
  captionSeconds: z.number(),
  hours: z.number(),
  grownMiB: z.number(),
});

async function makePart(engine: SpeechEngine, outputFormat: OutputFormat, folder: string) {
  const prompt = SENTENCE.repeat(SENTENCES).trim();
  const voice = { voice: undefined, speed: 1, volume: 1, pitch: 0 };
  const { bytes, audioSeconds } = await engine.speak({ prompt, outputFormat, sampleRate: RATE_HZ, ...voice });
  const path = join(folder, outputFormat);
  writeFileSync(path, bytes);
  return { path, audioSeconds };
}

export async function benchJoining(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const folder = mkdtempSync(join(tmpdir(), "bench-joining-"));
  const engine = createSpeechEngine();
  const samples: Sample[] = [];
  const verdicts: Verdict[] = [];
  try {
    for (const format of OUTPUT_FORMATS) {
      const { path, audioSeconds } = await makePart(engine, format, folder);
      const wanted = format === "wav" || format === "pcm" ? UNCOMPRESSED_HOURS : HOURS;
      const copies = Math.ceil((wanted * 3600) / audioSeconds);
      const script = join(import.meta.dirname, "join-once.ts");
      const args = [script, format, path, `${copies}`, `${audioSeconds}`];
      const runs = Array.from({ length: Math.min(rounds, ROUNDS_MAX) }, () =>
        taken.parse(JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }))),
      );
      const of = (name: string, unit: string, value: (run: z.infer<typeof taken>) => number): Sample =>
        sample(`${format}, ${wanted} h: ${name}`, unit, runs.map(value));
      const joining = of("joined, an hour", "s", (run) => run.joinSeconds / run.hours);
      const captions = of("captions, an hour", "s", (run) => run.captionSeconds / run.hours);
      const memory = of("memory above idle", "MiB", (run) => run.grownMiB);
      samples.push(joining, captions, memory);
      verdicts.push(
        atMost("joining", `${format}: joining an hour of audio`, joining.median, 2, " s"),
        atMost("joining", `${format}: memory above idle for ${wanted} h`, memory.median, 100, " MiB"),
      );
    }
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
  printSamples("Joining parts of about 90 s", samples);
  return { samples, verdicts };
}

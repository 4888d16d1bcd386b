/** Every format at every rate, from a tool call to a file whose format ffprobe confirms. */
import { expect, it } from "vitest";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../../src/contract/audio-format.ts";
import { COMPILED } from "../support/bin-under-test.ts";
import { openClientAll, openFoldersAll, openSandboxAll } from "../support/e2e-setup.ts";
import { describeWithFfprobe, probeAudio } from "../support/ffprobe.ts";
import { startToolClient } from "../support/tool-client.ts";
import { generate } from "../support/tool-result.ts";

const CODECS = { mp3: "mp3", wav: "pcm_s16le", pcm: "pcm_s16le", ogg_opus: "opus" } as const;
const EXTENSIONS = { mp3: ".mp3", wav: ".wav", pcm: ".pcm", ogg_opus: ".ogg" } as const;

const pairs = OUTPUT_FORMATS.flatMap((format) => SAMPLE_RATES.map((rate) => ({ format, rate })));

describeWithFfprobe("a file of every format and rate", () => {
  const sandbox = openSandboxAll({ processingSeconds: 0.02, timeScale: 0.001 });
  const testFolders = openFoldersAll();
  const client = openClientAll(() =>
    startToolClient(testFolders.env(sandbox, { ...COMPILED, AUDIO_TIME_SCALE: "0.002" })),
  );

  it.for(pairs)("$format at $rate Hz", async ({ format, rate }) => {
    const task = await generate(client, {
      prompt: "Every format, every rate.",
      output_format: format,
      sample_rate: rate,
    });
    const { audio } = task;
    expect(audio).toMatchObject({ format, sample_rate: rate });
    expect(audio?.path.endsWith(EXTENSIONS[format])).toBe(true);
    const probed = await probeAudio(audio?.path ?? "", { format, sampleRateHz: rate });
    expect(probed).toMatchObject({ codec: CODECS[format], sampleRateHz: rate, channels: 1 });
    expect(Math.abs(probed.durationSeconds - (audio?.duration_seconds ?? 0))).toBeLessThan(0.1);
    expect(audio?.duration_seconds).toBe(task.audio_seconds);
  });
});

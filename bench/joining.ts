/** Measures joining an hour of speech from parts of about 90 s, beside `cat` and `sha256sum` of the same parts. */
import { execFileSync } from "node:child_process";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { createSpeechEngine } from "../src/sandbox/speech/speech.ts";
import { compare, type Row, report, timed } from "./measure.ts";
import { openFolder } from "./setup.ts";

const ROUNDS = 5;
const FORMATS = ["mp3", "ogg_opus", "wav"] as const;
const PROMPT = "The wind had turned to the north, and with it came the smell of snow and of smoke. ".repeat(
  15,
);

const taken = z.object({ seconds: z.number(), grownMiB: z.number() });

const folder = await openFolder();
const engine = createSpeechEngine();

async function benchFormat(format: (typeof FORMATS)[number]): Promise<Row[]> {
  const voice = { voice: undefined, speed: 1, volume: 1, pitch: 0 };
  const request = { prompt: PROMPT.trim(), output_format: format, sample_rate: 24_000 } as const;
  const { bytes, audioSeconds } = await engine.speak({ ...request, ...voice });
  const path = join(folder.root, format);
  writeFileSync(path, bytes);
  const copies = Math.ceil(3600 / audioSeconds);

  const joinOnce = (): z.infer<typeof taken> => {
    const script = join(import.meta.dirname, "join-once.ts");
    const args = [script, format, path, String(copies), String(audioSeconds)];
    return taken.parse(JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })));
  };
  const concatenate = async (): Promise<number> => {
    const target = `${path}.joined`;
    const script = 'cat "$@" > "$0" && sha256sum "$0" >/dev/null';
    const parts = Array<string>(copies).fill(path);
    const tookMs = await timed(() => execFileSync("sh", ["-c", script, target, ...parts]));
    rmSync(target);
    return tookMs / 1000;
  };
  const times = await compare(ROUNDS, () => joinOnce().seconds, concatenate);
  const partsMiB = (statSync(path).size * copies) / 2 ** 20;
  const memory = await compare(
    ROUNDS,
    () => joinOnce().grownMiB,
    () => partsMiB,
  );
  return [
    {
      name: `an hour of ${format}`,
      unit: "s",
      comparedWith: "cat and sha256sum",
      ...times,
      goal: { of: "ours", atMost: 2 },
    },
    {
      name: `an hour of ${format}, memory added`,
      unit: "MiB",
      comparedWith: "the parts",
      ...memory,
      goal: { of: "ours", atMost: 100 },
    },
  ];
}

try {
  const rows: Row[] = [];
  for (const format of FORMATS) rows.push(...(await benchFormat(format)));
  report(rows);
} finally {
  await engine.close();
  await folder.remove();
}

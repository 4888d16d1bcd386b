/**
 * Joins one part with itself many times into a file that is hashed while it is written. Prints the time and the
 * memory that this takes.
 */
import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { joinAudio } from "../src/audio/join.ts";
import { OUTPUT_FORMATS } from "../src/contract/audio-format.ts";
import { timed } from "./measure.ts";
import { watchMemory } from "./resident.ts";

const [formatName, path = "", copies = "", seconds = ""] = process.argv.slice(2);
const format = OUTPUT_FORMATS.find((known) => known === formatName);
if (format === undefined) throw new Error(`${formatName} is not a format`);

const part = { path, durationSeconds: Number(seconds), sampleRateHz: 24_000, pauseAfterSeconds: 0.6 };
const parts = Array<typeof part>(Number(copies)).fill(part);
const chapters = parts.flatMap((_, index) =>
  index % 20 === 0 ? [{ title: `Chapter ${index}`, firstPart: index }] : [],
);

const target = `${path}.joined`;
const file = await open(target, "w");
const hash = createHash("sha256");
const memory = watchMemory("self");
const tookMs = await timed(() =>
  joinAudio({
    format,
    parts,
    chapters,
    title: "Bench",
    write: async (bytes) => {
      const writing = file.writeFile(bytes);
      hash.update(bytes);
      await writing;
    },
  }),
);
const grownMiB = memory.grownMiB();
await file.close();
await rm(target);
process.stdout.write(JSON.stringify({ seconds: tookMs / 1000, grownMiB }));

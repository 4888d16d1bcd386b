/** Joins one part with itself many times, into a file that is hashed as it grows, and prints what that took; in a process of its own, for its memory. */
import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { makeCaptions } from "../src/audio/captions/captions.ts";
import { joinAudio } from "../src/audio/join.ts";
import { OUTPUT_FORMATS } from "../src/contract/audio-format.ts";
import { residentMiB } from "./resident.ts";

const [formatName = "", path = "", copies = "", seconds = ""] = process.argv.slice(2);
const format = OUTPUT_FORMATS.find((known) => known === formatName);
if (format === undefined) throw new Error(`${formatName} is no format`);

const part = { path, durationSeconds: Number(seconds), sampleRateHz: 24000, pauseAfterSeconds: 0.6 };
const parts = Array<typeof part>(Number(copies)).fill(part);
const chapters = parts.flatMap((_, index) =>
  index % 20 === 0 ? [{ title: `Chapter ${index}`, firstPart: index }] : [],
);
const idleMiB = process.memoryUsage.rss() / 2 ** 20;

const target = `${path}.joined`;
const file = await open(target, "w");
const hash = createHash("sha256");
const joinedAt = performance.now();
const joined = await joinAudio({
  format,
  parts,
  chapters,
  title: "Bench",
  write: async (bytes) => {
    const writing = file.writeFile(bytes);
    hash.update(bytes);
    await writing;
  },
});
const joinSeconds = (performance.now() - joinedAt) / 1000;
await file.close();
await rm(target);

const sentences = Array.from({ length: 15 }, (_, index) => ({
  text: `Sentence number ${index}.`,
  weight: 6,
}));
const captionedAt = performance.now();
await makeCaptions({
  format,
  parts: joined.parts.map((span) => ({ ...part, span, sentences })),
});
const captionSeconds = (performance.now() - captionedAt) / 1000;

const grownMiB = residentMiB("self", "peak") - idleMiB;
const hours = joined.durationSeconds / 3600;
process.stdout.write(JSON.stringify({ joinSeconds, captionSeconds, hours, grownMiB }));

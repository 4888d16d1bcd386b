/**
 * Measures the time to plan 500,000 characters: as plain text, as Markdown, as subtitles and as an EPUB. Measures the
 * processor time of later plans in the same process. Measures the memory for the EPUB and for 2,000,000 characters.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { compare, type Row, report } from "./measure.ts";

const ROUNDS = 11;
const CHARACTERS = 500_000;
const MANY_CHARACTERS = 2_000_000;

function takes(
  work: "plain" | "markdown" | "library" | "cpu" | "memory" | "cues" | "epub" | "epub-memory",
  characters = CHARACTERS,
): number {
  const script = join(import.meta.dirname, "plan-once.ts");
  return Number(execFileSync(process.execPath, [script, String(characters), work], { encoding: "utf8" }));
}

const rows: Row[] = [];
for (const format of ["plain", "markdown"] as const) {
  const times = await compare(
    ROUNDS,
    () => takes(format),
    () => takes("library"),
  );
  rows.push({
    name: `${CHARACTERS.toLocaleString("en")} characters, ${format}`,
    unit: "ms",
    comparedWith: "marked reading the same text",
    ...times,
    goal: { of: "ours", atMost: 100 },
  });
}
rows.push(
  {
    name: `${CHARACTERS.toLocaleString("en")} characters in 5,000 cues of subtitles`,
    unit: "ms",
    comparedWith: "the same text, plain",
    ...(await compare(
      ROUNDS,
      () => takes("cues"),
      () => takes("plain"),
    )),
    goal: { of: "ours", atMost: 1500 },
  },
  {
    name: `an EPUB of 10 MB with ${CHARACTERS.toLocaleString("en")} characters`,
    unit: "ms",
    comparedWith: "the same text, plain",
    ...(await compare(
      ROUNDS,
      () => takes("epub"),
      () => takes("plain"),
    )),
    goal: { of: "ours", atMost: 1500 },
  },
  {
    name: "an EPUB of 10 MB, memory above idle",
    unit: "MiB",
    comparedWith: "the same text, plain",
    ...(await compare(
      ROUNDS,
      () => takes("epub-memory"),
      () => takes("memory"),
    )),
    goal: { of: "ours", atMost: 150 },
  },
  {
    name: `${CHARACTERS.toLocaleString("en")} characters, plain, processor's time after the first`,
    unit: "ms",
    comparedWith: "elapsed time of the first plan of a process",
    ...(await compare(
      ROUNDS,
      () => takes("cpu"),
      () => takes("plain"),
    )),
    goal: { of: "ours", atMost: 60 },
  },
  {
    name: `${MANY_CHARACTERS.toLocaleString("en")} characters, plain, memory above idle`,
    unit: "MiB",
    comparedWith: `${CHARACTERS.toLocaleString("en")} characters`,
    ...(await compare(
      ROUNDS,
      () => takes("memory", MANY_CHARACTERS),
      () => takes("memory"),
    )),
    goal: { of: "ours", atMost: 60 },
  },
);
report(rows);

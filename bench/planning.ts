/** Measures planning a novel, and what an edit of one would pay for; in this process, since it asks nobody. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { NarrationPlan } from "../src/narration/plan/plan.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";
import { novel, plan } from "./novel.ts";

const NOVEL_CHARACTERS = 500_000;
const EDITED_CHARACTERS = 200_000;
const EDITS = 40;

/** Parts that only the second plan has: a part is paid for once, however often it is heard. */
function newParts(before: NarrationPlan, after: NarrationPlan): number {
  const paid = new Set(before.parts.map(({ text }) => text));
  return new Set(after.parts.map(({ text }) => text).filter((text) => !paid.has(text))).size;
}

/** In a process of its own, which has planned nothing before. */
function firstOfAProcess(work: "plain" | "markdown" | "library"): number {
  const script = join(import.meta.dirname, "plan-once.ts");
  const args = [script, String(NOVEL_CHARACTERS), work];
  return Number(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

function timed(rounds: number, run: () => number): number[] {
  return Array.from({ length: rounds }, run);
}

function planMs(text: string, format: "plain" | "markdown"): number {
  const beganAtMs = performance.now();
  plan(text, format);
  return performance.now() - beganAtMs;
}

export function benchPlanning(rounds: number): { samples: Sample[]; verdicts: Verdict[] } {
  const long = novel(NOVEL_CHARACTERS);
  const samples = (["plain", "markdown"] as const).flatMap((format) => {
    planMs(long, format);
    return [
      sample(
        `${format}, the first of a process`,
        "ms",
        timed(rounds, () => firstOfAProcess(format)),
      ),
      sample(
        `${format}, each after it`,
        "ms",
        timed(rounds, () => planMs(long, format)),
      ),
    ];
  });
  const library = timed(rounds, () => firstOfAProcess("library"));
  const least = sample("the library alone reading Markdown, the first of a process", "ms", library);
  printSamples(`Planning ${NOVEL_CHARACTERS.toLocaleString("en")} characters`, [...samples, least]);

  const text = novel(EDITED_CHARACTERS);
  const before = plan(text);
  const edits = Array.from({ length: EDITS }, (_, index) => {
    const at = text.indexOf(" the ", Math.floor((index / EDITS) * text.length));
    return newParts(before, plan(`${text.slice(0, at)} another ${text.slice(at + " the ".length)}`));
  });
  const chapters = text.split(/(?=^Chapter )/m);
  const moved = [...chapters.slice(1, 4), `${chapters[0]?.trim()}\n\n`, ...chapters.slice(4)].join("");
  const characters = EDITED_CHARACTERS.toLocaleString("en");
  return {
    samples,
    verdicts: [
      ...samples.map(({ name, median }) =>
        atMost("planning", `${NOVEL_CHARACTERS.toLocaleString("en")} characters, ${name}`, median, 50, " ms"),
      ),
      atMost(
        "planning",
        `creates for a word edited in ${characters} characters, most of ${EDITS}`,
        Math.max(...edits),
        3,
      ),
      atMost(
        "planning",
        `creates for a chapter moved in ${characters} characters`,
        newParts(before, plan(moved)),
        0,
      ),
    ],
  };
}

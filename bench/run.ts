/** Runs the whole bench on the built bin and prints tables, the verdict on every goal, and the same as JSON: `npm run bench [-- --rounds N] [--json FILE] [--only PART,…]`. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { benchCalls } from "./calls.ts";
import { benchDownload } from "./download.ts";
import { benchGrowth } from "./growth.ts";
import { benchIdle } from "./idle.ts";
import { benchJoining } from "./joining.ts";
import { atMost, type Sample, type Verdict } from "./measure.ts";
import { benchPlanning } from "./planning.ts";
import { benchStart } from "./start.ts";
import { benchTeam } from "./team.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "21" }, json: { type: "string" }, only: { type: "string" } },
});
const rounds = Number(values.rounds);

const throughputResults = z.object({
  results: z.array(
    z.object({
      processes: z.number(),
      processingSeconds: z.number(),
      ratio: z.number(),
      goal: z.number(),
      refusedWith429: z.number(),
    }),
  ),
  naive: z.array(
    z.object({ processingSeconds: z.number(), tookSeconds: z.number(), refusedWith429: z.number() }),
  ),
});

const narrationResults = z.object({
  results: z.array(
    z.object({
      work: z.string(),
      processes: z.number(),
      narrations: z.number(),
      isSecond: z.boolean(),
      ratio: z.number(),
      goal: z.number(),
      refusedWith429: z.number(),
    }),
  ),
});

/** In a process of its own, as it drives many; it exits 1 when a goal is missed, which the table says too. */
function outputOf(script: string): unknown {
  try {
    const output = execFileSync(process.execPath, [join(import.meta.dirname, script), "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    return JSON.parse(output);
  } catch (error) {
    return JSON.parse(z.object({ stdout: z.string() }).parse(error).stdout);
  }
}

function benchThroughput(): Verdict[] {
  console.log("\nThroughput: takes some minutes …");
  const { results, naive } = throughputResults.parse(outputOf("throughput.ts"));
  for (const { processingSeconds, tookSeconds, refusedWith429 } of naive) {
    console.log(
      `  naive (send, on 429 wait), tasks of ${processingSeconds} s: ${tookSeconds.toFixed(1)} s, ${refusedWith429} refused`,
    );
  }
  return results.flatMap((result) => {
    const figure = `20 single texts of ${result.processingSeconds} s, ${result.processes} process(es), over the optimum`;
    return [
      atMost("throughput", figure, result.ratio, result.goal),
      atMost("throughput", `${figure}: refused with 429`, result.refusedWith429, 0),
    ];
  });
}

function benchNarration(): Verdict[] {
  console.log("\nNarrations: take some minutes …");
  const { results } = narrationResults.parse(outputOf("narration.ts"));
  const perSetting = results.map(({ work, processes, narrations, isSecond, ratio, goal }) => {
    const which = isSecond ? "the second" : narrations === 1 ? "the same" : "one each";
    const who = processes === 1 && !isSecond ? "1 process" : `${processes} process(es), ${which}`;
    return atMost("narration", `24 parts of ${work}, ${who}, over the optimum`, ratio, goal);
  });
  const refused = results.reduce((sum, { refusedWith429 }) => sum + refusedWith429, 0);
  return [...perSetting, atMost("narration", "all of them: refused with 429", refused, 0)];
}

const machine = `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, ${process.platform}`;
console.log(`Machine: ${machine}; medians of ${rounds} rounds, side by side.`);

const samples: Sample[] = [];
const verdicts: Verdict[] = [];
type Bench = (rounds: number) => MaybePromise<{ samples: readonly Sample[]; verdicts: readonly Verdict[] }>;
type MaybePromise<T> = T | Promise<T>;

/** What `--only` names, in the order of the table. */
const BENCHES: Readonly<Record<string, Bench>> = {
  start: benchStart,
  calls: benchCalls,
  download: benchDownload,
  growth: benchGrowth,
  planning: benchPlanning,
  joining: benchJoining,
  idle: benchIdle,
  team: benchTeam,
  throughput: () => ({ samples: [], verdicts: benchThroughput() }),
  narration: () => ({ samples: [], verdicts: benchNarration() }),
};

const wanted = values.only?.split(",") ?? Object.keys(BENCHES);
const unknown = wanted.filter((name) => BENCHES[name] === undefined);
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")}; parts are ${Object.keys(BENCHES).join(", ")}.`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (!wanted.includes(name)) continue;
  const result = await bench(rounds);
  samples.push(...result.samples);
  verdicts.push(...result.verdicts);
}

console.log("\nGoals");
for (const { section, figure, value, goal, met } of verdicts) {
  const mark = met === null ? "?" : met ? "✓" : "✗";
  console.log(`  ${mark} ${section.padEnd(10)} ${figure.padEnd(62)} ${value.padStart(12)}   ${goal}`);
}
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify({ machine, rounds, samples, verdicts }, null, 2)}\n`);
}

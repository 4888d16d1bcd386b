/** Measures how many creates a whole team's processes can have admitted on one cluster, and how long one admission then takes. */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { RedisCluster } from "../test/support/redis-cluster.ts";
import { printSamples, type Sample, sample } from "./measure.ts";
import type { Team } from "./team.ts";

const WORKER = join(import.meta.dirname, "team-worker.ts");
const answer = z.object({ tookMs: z.array(z.number()), failures: z.int() });
type Answer = z.infer<typeof answer>;

/** As fast as they can: all processes at once. */
const RUSH_MS = 700;
/** One admission a process and second: ten accounts may send one create a second altogether. */
const PACE_MS = 1000;
const PACED_MS = 20_000;

export interface TeamAdmissions {
  readonly samples: readonly Sample[];
  /** A second, all processes together, each admission with its claim and its taking back. */
  readonly perSecond: number;
  /** Milliseconds of one admission, 99 of 100, at one a process and second. */
  readonly p99Ms: number;
  /** The same of one write that does nothing else. */
  readonly p99NothingMs: number;
}

function answerOf(worker: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`a worker ended with ${code}`));
    worker.once("exit", onExit);
    worker.once("message", (message) => {
      worker.off("exit", onExit);
      resolve(answer.parse(message));
    });
  });
}

type Order = { what: "admission" | "nothing"; forMs: number; everyMs: number };

async function order(workers: readonly ChildProcess[], what: Order): Promise<number[]> {
  const all = workers.map((worker) => {
    const answered = answerOf(worker);
    worker.send(what);
    return answered;
  });
  const answers = await Promise.all(all);
  const failures = answers.reduce((sum, each) => sum + each.failures, 0);
  if (failures > 0) console.log(`  ${failures} of ${what.what} were told that the store was away`);
  return answers.flatMap(({ tookMs }) => tookMs);
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Real processes that open the real ledger; they are started one after another, as people do. */
export async function benchAdmissions(
  cluster: RedisCluster,
  { processes, keyOf }: Team,
  rounds: number,
): Promise<TeamAdmissions> {
  const root = await mkdtemp(join(tmpdir(), "agm-team-"));
  const workers: ChildProcess[] = [];
  try {
    for (let at = 0; at < processes; at += 1) {
      const worker = fork(WORKER, [cluster.url, root, "http://127.0.0.1:9", keyOf(at)]);
      workers.push(worker);
      await answerOf(worker);
    }
    const rates: number[] = [];
    const bare: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      const admitted = await order(workers, { what: "admission", forMs: RUSH_MS, everyMs: 0 });
      const written = await order(workers, { what: "nothing", forMs: RUSH_MS, everyMs: 0 });
      if (round < 0) continue;
      rates.push((admitted.length / RUSH_MS) * 1000);
      bare.push((written.length / RUSH_MS) * 1000);
    }
    const paced = { forMs: PACED_MS, everyMs: PACE_MS };
    const admission = await order(workers, { what: "admission", ...paced });
    const nothing = await order(workers, { what: "nothing", ...paced });
    const samples = [
      sample("admissions, all at once", "a second", rates),
      sample("writes that do nothing else", "a second", bare),
      sample(`admission, one a process every ${PACE_MS} ms`, "ms", admission),
      sample("a write that does nothing else", "ms", nothing),
    ];
    printSamples(`A team's admissions: ${processes} processes on one cluster`, samples);
    const p99Ms = percentile(admission, 0.99);
    const p99NothingMs = percentile(nothing, 0.99);
    console.log(
      `  99 of 100 within ${p99Ms.toFixed(2)} ms; of writes that do nothing else ${p99NothingMs.toFixed(2)} ms`,
    );
    return { samples, perSecond: samples[0]?.median ?? Number.NaN, p99Ms, p99NothingMs };
  } finally {
    for (const worker of workers) if (worker.connected) worker.disconnect();
    await rm(root, { recursive: true, force: true });
  }
}

/** Divides the rounds among chaos runs, performs the runs, and counts what happened. */

import { ChaosRun } from "./chaos-run.ts";
import type { StoreKind } from "./ledger-storage.ts";

/** Maximum number of rounds of one run. Each round checks all earlier rounds of its run, so long runs are slow. */
const ROUNDS_PER_RUN = 40;

export interface ChaosOptions {
  readonly rounds: number;
  /** The seed of the first run. Later runs use the next numbers. */
  readonly seed: number;
  readonly store: StoreKind;
  /** Number of simultaneous runs. */
  readonly atOnce?: number;
  readonly onRound?: (rounds: number) => void;
  readonly onProblems?: (seed: number, problems: readonly string[]) => void;
}

export interface ChaosReport {
  readonly rounds: number;
  readonly figures: Readonly<Record<string, number>>;
  /** Empty if every check succeeded. Each entry begins with the seed of its run. */
  readonly problems: readonly string[];
}

/** Performs the rounds. A run ends after the first round with a problem. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { rounds, seed, store, atOnce = 1, onRound, onProblems } = options;
  const figures: Record<string, number> = {};
  const problems: string[] = [];
  let startedRounds = 0;
  let done = 0;
  let nextSeed = seed;
  const runAll = async (): Promise<void> => {
    while (startedRounds < rounds) {
      const roundCount = Math.min(ROUNDS_PER_RUN, rounds - startedRounds);
      startedRounds += roundCount;
      const runSeed = nextSeed;
      nextSeed += 1;
      const run = await ChaosRun.open({ seed: runSeed, store });
      try {
        for (let round = 1; round <= roundCount && !run.isWrong; round += 1) {
          await run.round(round);
          done += 1;
          onRound?.(done);
        }
      } finally {
        await run.close();
        for (const [name, figure] of Object.entries(run.figures)) {
          figures[name] = (figures[name] ?? 0) + figure;
        }
      }
      if (!run.isWrong) continue;
      problems.push(...run.problems.map((line) => `seed ${runSeed}: ${line}`));
      onProblems?.(runSeed, run.problems);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runAll));
  return { rounds: done, figures, problems };
}

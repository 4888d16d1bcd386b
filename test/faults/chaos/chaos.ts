/** Runs rounds of chaos in worlds that are small enough to check completely, and counts what happened. */

import { ChaosRun } from "./chaos-run.ts";
import type { StoreKind } from "./ledger-place.ts";

/** Every round compares the whole world, so a new world keeps the comparison quick. */
const ROUNDS_A_WORLD = 40;

export interface ChaosOptions {
  readonly rounds: number;
  /** The seed of the first world. Later worlds use the next numbers. */
  readonly seed: number;
  readonly store: StoreKind;
  /** Number of simultaneous worlds. */
  readonly atOnce?: number;
  readonly onRound?: (rounds: number) => void;
  readonly onWrong?: (seed: number, wrong: readonly string[]) => void;
}

export interface ChaosReport {
  readonly rounds: number;
  readonly figures: Readonly<Record<string, number>>;
  /** Empty if everything holds. Each entry names seed and round. */
  readonly wrong: readonly string[];
}

/** Runs the rounds. A world with a disagreement ends with that round. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { rounds, seed, store, atOnce = 1, onRound, onWrong } = options;
  const figures: Record<string, number> = {};
  const wrong: string[] = [];
  let begun = 0;
  let done = 0;
  let nextSeed = seed;
  const runWorlds = async (): Promise<void> => {
    while (begun < rounds) {
      const its = Math.min(ROUNDS_A_WORLD, rounds - begun);
      begun += its;
      const worldSeed = nextSeed;
      nextSeed += 1;
      const world = await ChaosRun.open({ seed: worldSeed, store });
      try {
        for (let round = 1; round <= its && !world.isWrong; round += 1) {
          await world.round(round);
          done += 1;
          onRound?.(done);
        }
      } finally {
        await world.close();
        for (const [name, figure] of Object.entries(world.figures)) {
          figures[name] = (figures[name] ?? 0) + figure;
        }
      }
      if (!world.isWrong) continue;
      wrong.push(...world.wrong.map((line) => `seed ${worldSeed}: ${line}`));
      onWrong?.(worldSeed, world.wrong);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runWorlds));
  return { rounds: done, figures, wrong };
}

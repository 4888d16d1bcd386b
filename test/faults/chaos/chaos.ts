/** Runs rounds of chaos in worlds that are small enough to be judged whole, and adds up what they met. */
import type { StoreKind } from "./ledger-place.ts";
import { World } from "./world.ts";

/** A world's books are compared as a whole after each round: a fresh one keeps that quick. */
const ROUNDS_A_WORLD = 40;

export interface ChaosOptions {
  readonly rounds: number;
  /** Of the first world; those after it have the next ones. */
  readonly seed: number;
  readonly store: StoreKind;
  /** Worlds at the same time. */
  readonly atOnce?: number;
  readonly onRound?: (rounds: number) => void;
  readonly onWrong?: (seed: number, wrong: readonly string[]) => void;
}

export interface ChaosReport {
  readonly rounds: number;
  readonly figures: Readonly<Record<string, number>>;
  /** Empty when everything holds; seed and round are named. */
  readonly wrong: readonly string[];
}

/** Runs rounds until they are done; a world whose books do not agree ends with that round. */
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
      const world = await World.open({ seed: worldSeed, store });
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

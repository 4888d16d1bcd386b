/**
 * Kills the built bin at random moments, in many rounds, and checks what was paid and what is on disk. Options:
 * `--rounds N --seed S --store sqlite|postgres --at-once K`.
 */
import { drawPlan, randomFrom, runRound } from "../test/crash/random-round.ts";
import { runRounds } from "./rounds.ts";

await runRounds({
  defaults: { rounds: 200, atOnce: 3 },
  draw: (rounds, seed) => {
    const random = randomFrom(seed);
    return Array.from({ length: rounds }, (_, round) => drawPlan(round + 1, random));
  },
  run: runRound,
  killsOf: ({ deathsAtMs }) => deathsAtMs.length,
});

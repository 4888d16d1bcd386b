/** Kills the built bin at random moments, round after round, and counts what was paid and what is on disk: `--rounds N --seed S --at-once K`. */
import { parseArgs } from "node:util";
import { drawPlan, randomFrom, runRound } from "../test/crash/random-round.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
    "at-once": { type: "string", default: "3" },
  },
});

const rounds = Number(values.rounds);
const seed = Number(values.seed);
const atOnce = Number(values["at-once"]);
if (![rounds, seed, atOnce].every((value) => Number.isSafeInteger(value) && value >= 0) || atOnce === 0) {
  process.stderr.write("--rounds, --seed and --at-once take whole numbers.\n");
  process.exit(2);
}

process.stdout.write(`${rounds} rounds, seed ${seed}\n`);
const random = randomFrom(seed);
// All drawn before the first round: what a seed means must not depend on which round ends first.
const plans = Array.from({ length: rounds }, (_, round) => drawPlan(round + 1, random));
const waiting = plans.values();
const beganAtMs = performance.now();
let kills = 0;
let faults = 0;

async function work(): Promise<void> {
  for (const plan of waiting) {
    try {
      await runRound(plan);
    } catch (error) {
      faults += 1;
      const why = error instanceof Error ? error.message : String(error);
      process.stdout.write(`round ${plan.round} is not clean: ${why}\n  ${JSON.stringify(plan)}\n`);
    }
    kills += plan.deathsAtMs.length;
  }
}

await Promise.all(Array.from({ length: atOnce }, work));
const seconds = ((performance.now() - beganAtMs) / 1000).toFixed(1);
process.stdout.write(
  `${rounds - faults} of ${rounds} rounds clean, ${kills} processes killed, ${seconds} s, seed ${seed}\n`,
);
process.exitCode = faults === 0 ? 0 : 1;

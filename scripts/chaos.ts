/**
 * Runs chaos rounds against the built bin. Options: `--rounds N --seed S --store sqlite|postgres --at-once K`.
 * Prints the seed, so that rounds can be repeated.
 */
import { runChaos } from "../test/faults/chaos/chaos.ts";
import { readRoundOptions } from "./rounds.ts";

const { rounds, seed, store, atOnce } = readRoundOptions({ rounds: 500, atOnce: 2 });
process.stdout.write(`chaos on ${store}: ${rounds} rounds, --seed ${seed}\n`);
const begunAtMs = performance.now();
const report = await runChaos({
  rounds,
  seed,
  store,
  atOnce,
  onRound: (round) => {
    if (round % 50 === 0) process.stdout.write(`  ${round} rounds\n`);
  },
  onProblems: (runSeed, problems) => {
    process.stdout.write(`  --seed ${runSeed} failed: ${problems.join("\n    ")}\n`);
  },
});
const seconds = Math.round((performance.now() - begunAtMs) / 100) / 10;
const { figures, problems } = report;
process.stdout.write(
  `${JSON.stringify({ store, seed, seconds, rounds: report.rounds, ...figures, problems: problems.length })}\n`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

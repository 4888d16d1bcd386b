/** Owns running chaos by hand against the built bin: `--rounds 500 --seed 7`; the seed is printed, so that a round can be run again. */
import { parseArgs } from "node:util";
import { runChaos } from "../test/faults/chaos/chaos.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "500" }, seed: { type: "string" } },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isSafeInteger(rounds) || rounds < 1 || !Number.isSafeInteger(seed)) {
  process.stderr.write("--rounds and --seed must be whole numbers\n");
  process.exit(2);
}
process.stdout.write(`chaos: ${rounds} rounds, --seed ${seed}\n`);
const begunAtMs = performance.now();
const { wrong, ...figures } = await runChaos({
  rounds,
  seed,
  onRound: (round) => {
    if (round % 50 === 0) process.stdout.write(`  ${round} rounds\n`);
  },
});
const seconds = Math.round((performance.now() - begunAtMs) / 100) / 10;
process.stdout.write(`${JSON.stringify({ seed, seconds, ...figures, wrong: wrong.length })}\n`);
for (const line of wrong) process.stdout.write(`${line}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;

/**
 * Runs chaos rounds against the built bin. Options: `--rounds N --seed S --store sqlite|postgres --at-once K`.
 * Prints the seed, so that rounds can be repeated.
 */
import { parseArgs } from "node:util";
import { runChaos } from "../test/faults/chaos/chaos.ts";
import { STORES } from "../test/faults/chaos/ledger-storage.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "500" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    store: { type: "string", default: "sqlite" },
    "at-once": { type: "string", default: "2" },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const atOnce = Number(values["at-once"]);
const store = STORES.find((kind) => kind === values.store);
if (![rounds, seed, atOnce].every((value) => Number.isSafeInteger(value) && value >= 0) || atOnce === 0) {
  process.stderr.write("--rounds, --seed and --at-once take whole numbers.\n");
  process.exit(2);
}
if (store === undefined) {
  process.stderr.write(`--store is one of ${STORES.join(", ")}.\n`);
  process.exit(2);
}
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

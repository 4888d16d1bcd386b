/**
 * Runs random rounds against the built bin, and reports those that fail with the seed that repeats them:
 * `node scripts/rounds.ts KIND --rounds N --seed S --store sqlite|postgres --at-once K`.
 */
import { parseArgs } from "node:util";
import { runCrashRound } from "../test/crash/random-round.ts";
import { runChaosRounds } from "../test/faults/chaos/chaos-run.ts";
import { runKillRound, runMixedRound } from "../test/narration/mixed-calls/mixed-round.ts";
import { type LedgerStores, openLedgerStores, STORES } from "../test/support/ledger-storage.ts";

interface Kind {
  readonly defaultRounds: number;
  /** How many rounds have one seed. Rounds of one seed share their world. */
  readonly roundsPerSeed: number;
  /** Returns how often each thing happened. Throws an error that names every problem. */
  run(seed: number, stores: LedgerStores, rounds: number): Promise<Record<string, number>>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  chaos: { defaultRounds: 500, roundsPerSeed: 40, run: runChaosRounds },
  "chaos:narration": { defaultRounds: 100, roundsPerSeed: 1, run: runMixedRound },
  crash: { defaultRounds: 200, roundsPerSeed: 1, run: runCrashRound },
  "crash:narration": { defaultRounds: 100, roundsPerSeed: 1, run: runKillRound },
};

function exitWithUsage(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

/** Exits with code 2 if an argument is invalid. */
function readOptions() {
  const text = { type: "string" } as const;
  const options = { rounds: text, seed: text, store: text, "at-once": text };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const kind =
    KINDS[positionals[0] ?? ""] ?? exitWithUsage(`The kinds are ${Object.keys(KINDS).join(", ")}.`);
  const numbers = {
    rounds: Number(values.rounds ?? kind.defaultRounds),
    seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 32)),
    atOnce: Number(values["at-once"] ?? 2),
  };
  const store = STORES.find((each) => each === (values.store ?? "sqlite"));
  const areWhole = Object.values(numbers).every((value) => Number.isSafeInteger(value) && value >= 0);
  if (!areWhole || numbers.atOnce === 0) exitWithUsage("--rounds, --seed and --at-once take whole numbers.");
  return {
    ...numbers,
    kind,
    name: positionals[0],
    store: store ?? exitWithUsage("--store: sqlite, postgres"),
  };
}

const { kind, name, rounds, seed, store, atOnce } = readOptions();
const figures: Record<string, number> = {};
const failedSeeds: number[] = [];
const startedAtMs = performance.now();
let started = 0;
let nextSeed = seed;

async function work(): Promise<void> {
  const stores = await openLedgerStores(store);
  while (started < rounds) {
    const count = Math.min(kind.roundsPerSeed, rounds - started);
    started += count;
    const roundSeed = nextSeed;
    nextSeed += 1;
    try {
      const counted = await kind.run(roundSeed, stores, count);
      for (const [what, times] of Object.entries(counted)) figures[what] = (figures[what] ?? 0) + times;
    } catch (error) {
      failedSeeds.push(roundSeed);
      const why = error instanceof Error ? error.message : String(error);
      process.stdout.write(`--seed ${roundSeed} --rounds ${count} --store ${store} failed: ${why}\n`);
    }
  }
  await stores.close();
}

process.stdout.write(`${name} on ${store}: ${rounds} rounds, --seed ${seed}\n`);
await Promise.all(Array.from({ length: atOnce }, work));
const seconds = Math.round((performance.now() - startedAtMs) / 1000);
process.stdout.write(`${JSON.stringify({ name, store, seed, rounds, seconds, failedSeeds, ...figures })}\n`);
process.exitCode = failedSeeds.length === 0 ? 0 : 1;

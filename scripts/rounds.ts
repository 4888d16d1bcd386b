/** Runs random rounds on SQLite or PostgreSQL, several at once, and reports the rounds that fail. */
import { parseArgs } from "node:util";
import { STORES } from "../test/faults/chaos/ledger-storage.ts";
import { PostgresServer } from "../test/support/postgres-server.ts";

export interface Rounds<Plan> {
  readonly defaults: { readonly rounds: number; readonly atOnce: number };
  /** Draws all plans before the first round, so that they depend on the seed alone, not on which round ends first. */
  draw(rounds: number, seed: number): readonly Plan[];
  /**
   * Runs one round. Throws if a check fails.
   *
   * @param storeUrl an empty database; `null` if the ledger is a file in the round's own folder
   */
  run(plan: Plan, storeUrl: string | null): Promise<void>;
  killsOf(plan: Plan): number;
}

function exitWithUsage(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

/**
 * Reads the command line (`--rounds N --seed S --store sqlite|postgres --at-once K`). Exits with code 2 if an option is
 * invalid.
 */
export function readRoundOptions({ rounds, atOnce }: Rounds<unknown>["defaults"]) {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { rounds: text, seed: text, store: text, "at-once": text } });
  const numbers = {
    rounds: Number(values.rounds ?? rounds),
    seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 32)),
    atOnce: Number(values["at-once"] ?? atOnce),
  };
  const store = STORES.find((kind) => kind === (values.store ?? "sqlite"));
  const areWhole = Object.values(numbers).every((value) => Number.isSafeInteger(value) && value >= 0);
  if (!areWhole || numbers.atOnce === 0) exitWithUsage("--rounds, --seed and --at-once take whole numbers.");
  if (store === undefined) exitWithUsage(`--store is one of ${STORES.join(", ")}.`);
  return { ...numbers, store };
}

/**
 * Runs the rounds that the command line asks for (see {@link readRoundOptions}). Sets exit code 1 if a round fails.
 */
export async function runRounds<Plan extends { readonly round: number }>(
  options: Rounds<Plan>,
): Promise<void> {
  const { rounds, seed, atOnce, store } = readRoundOptions(options.defaults);
  process.stdout.write(`${rounds} rounds on ${store}, seed ${seed}\n`);
  const postgres = store === "postgres" ? await PostgresServer.start() : undefined;
  const waiting = options.draw(rounds, seed).values();
  const beganAtMs = performance.now();
  let kills = 0;
  let faults = 0;
  const work = async (): Promise<void> => {
    for (const plan of waiting) {
      try {
        await options.run(plan, postgres === undefined ? null : await postgres.newDatabase());
      } catch (error) {
        faults += 1;
        const why = error instanceof Error ? error.message : String(error);
        process.stdout.write(`round ${plan.round} failed: ${why}\n  ${JSON.stringify(plan)}\n`);
      }
      kills += options.killsOf(plan);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  await postgres?.remove();
  const seconds = ((performance.now() - beganAtMs) / 1000).toFixed(1);
  process.stdout.write(
    `${rounds - faults} of ${rounds} rounds passed, ${kills} processes killed, ${seconds} s, seed ${seed}\n`,
  );
  process.exitCode = faults === 0 ? 0 : 1;
}

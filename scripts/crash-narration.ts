/** Kills two processes at one narration, round after round, and counts what was paid and what is on disk: `--rounds N --seed S --store sqlite|redis --at-once K`. */
import { parseArgs } from "node:util";
import { createClient } from "@keyv/redis";
import { killPlans, runKillRound } from "../test/narration/kill-round.ts";
import { RedisServer } from "../test/support/redis-server.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "100" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
    store: { type: "string", default: "sqlite" },
    "at-once": { type: "string", default: "2" },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const atOnce = Number(values["at-once"]);
const areWhole = [rounds, seed, atOnce].every((value) => Number.isSafeInteger(value) && value >= 0);
if (!areWhole || atOnce === 0 || !["sqlite", "redis"].includes(values.store)) {
  process.stderr.write("--rounds, --seed and --at-once take whole numbers, --store is sqlite or redis.\n");
  process.exit(2);
}

process.stdout.write(`${rounds} rounds on ${values.store}, seed ${seed}\n`);
const redis = values.store === "redis" ? await RedisServer.start() : undefined;
const waiting = killPlans(rounds, seed).values();
const beganAtMs = performance.now();
let faults = 0;
let kills = 0;

/** The store of a worker's next round, which holds nothing yet; `null`: a file in the round's own folder. */
async function emptyStore(worker: number): Promise<string | null> {
  if (redis === undefined) return null;
  const url = `${redis.url}/${worker}`;
  const client = await createClient({ url }).connect();
  await client.sendCommand(["FLUSHDB"]);
  client.destroy();
  return url;
}

async function work(worker: number): Promise<void> {
  for (const plan of waiting) {
    kills += plan.livesMs.flat().length;
    try {
      await runKillRound(plan, await emptyStore(worker));
    } catch (error) {
      faults += 1;
      const why = error instanceof Error ? error.message : String(error);
      process.stdout.write(`round ${plan.round} is not clean: ${why}\n  ${JSON.stringify(plan)}\n`);
    }
  }
}

await Promise.all(Array.from({ length: atOnce }, (_, worker) => work(worker)));
await redis?.remove();
const seconds = ((performance.now() - beganAtMs) / 1000).toFixed(1);
process.stdout.write(
  `${rounds - faults} of ${rounds} rounds clean, ${kills} processes killed, ${seconds} s, seed ${seed}\n`,
);
process.exitCode = faults === 0 ? 0 : 1;

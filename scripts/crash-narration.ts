/**
 * Kills two processes that work on one narration, in random rounds, and checks what was paid and what is on disk.
 * Options: `--rounds N --seed S --store sqlite|postgres --at-once K`.
 */
import { killPlans, runKillRound } from "../test/narration/kill-round.ts";
import { runRounds } from "./rounds.ts";

await runRounds({
  defaults: { rounds: 100, atOnce: 2 },
  draw: killPlans,
  run: runKillRound,
  killsOf: ({ lifetimesMs }) => lifetimesMs.flat().length,
});

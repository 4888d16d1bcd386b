/** Kills two processes at one narration, round after round, and counts what was paid and what is on disk: `--rounds N --seed S --store sqlite|postgres --at-once K`. */
import { killPlans, runKillRound } from "../test/narration/kill-round.ts";
import { runRounds } from "./rounds.ts";

await runRounds({
  defaults: { rounds: 100, atOnce: 2 },
  draw: killPlans,
  run: runKillRound,
  killsOf: ({ livesMs }) => livesMs.flat().length,
});

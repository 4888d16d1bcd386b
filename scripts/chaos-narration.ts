/**
 * Changes, stops, cancels and kills a narration in random rounds, and checks that each answer's promises are kept.
 * Options: `--rounds N --seed S --store sqlite|postgres --at-once K`.
 */
import { randomFrom } from "../test/crash/random-round.ts";
import { roundPlans, runChangingCallsRound } from "../test/narration/changing-calls-round.ts";
import { runRounds } from "./rounds.ts";

await runRounds({
  defaults: { rounds: 100, atOnce: 2 },
  draw: (rounds, seed) => roundPlans(rounds, randomFrom(seed)),
  run: runChangingCallsRound,
  killsOf: ({ steps }) =>
    steps.filter(
      ({ action, endsAfterMs, isKilled }) => action.kind === "kill" || (endsAfterMs !== null && isKilled),
    ).length,
});

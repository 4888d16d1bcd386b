/**
 * A few random rounds of kills and of changing calls. `npm run crash:narration` and `npm run chaos:narration` run any
 * number of them.
 */
import { expect, it } from "vitest";
import { randomFrom } from "../crash/random-round.ts";
import { roundPlans, runChangingCallsRound } from "./changing-calls-round.ts";
import { killPlans, runKillRound } from "./kill-round.ts";

const ROUNDS = 3;

it.each(killPlans(ROUNDS, 20_261_122))(
  "round $round of kills leaves one task and one charge per part, and one whole file",
  async (plan) => {
    await expect(runKillRound(plan)).resolves.toBeUndefined();
  },
  60_000,
);

it.each(roundPlans(6, randomFrom(1)))(
  "round $round of limits, stops, retakes, cancels and kills keeps the promises of each answer",
  async (plan) => {
    await expect(runChangingCallsRound(plan)).resolves.toBeUndefined();
  },
  60_000,
);

/** A few drawn rounds of kills; `npm run crash:narration` runs as many as one likes. */
import { expect, it } from "vitest";
import { killPlans, runKillRound } from "./kill-round.ts";

const ROUNDS = 3;

it.each(killPlans(ROUNDS, 20_261_122))(
  "round $round of kills leaves one task and one charge a part, and one whole file",
  async (plan) => {
    await expect(runKillRound(plan)).resolves.toBeUndefined();
  },
  60_000,
);

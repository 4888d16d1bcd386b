/** Random faults everywhere at once: after each round the books agree. By hand and for longer: `npm run chaos`. */
import { expect, it } from "vitest";
import { runChaos } from "./chaos/chaos.ts";

it("whatever goes wrong, each request is one task, one charge and one whole file, and the key is nowhere", async () => {
  const { wrong, ...figures } = await runChaos({ rounds: 15, seed: 20_261_121 });
  expect(wrong).toEqual([]);
  expect(figures.rounds).toBe(15);
  expect(figures.tasks).toBeGreaterThan(15);
});

/**
 * Random faults everywhere at once. After each round, service, tools and disk must agree. `npm run chaos` runs more
 * rounds.
 */
import { describe, expect, it } from "vitest";
import { whyNoPostgres } from "../support/postgres-server.ts";
import { runChaos } from "./chaos/chaos.ts";

describe("whatever fails, each request is one task, one charge and one whole file, and the key is in no output", () => {
  it("with the ledger in a file", async () => {
    const { problems, rounds } = await runChaos({ rounds: 5, seed: 20_261_121, store: "sqlite" });
    expect(problems).toEqual([]);
    expect(rounds).toBe(5);
  });

  it.skipIf(whyNoPostgres() !== undefined)("with the ledger on PostgreSQL", async () => {
    const { problems, rounds } = await runChaos({ rounds: 3, seed: 20_261_121, store: "postgres" });
    expect(problems).toEqual([]);
    expect(rounds).toBe(3);
  });
});

/**
 * A few random rounds of kills and of mixed calls. `npm run crash:narration` and `npm run chaos:narration` run any
 * number of them.
 */
import { expect, it } from "vitest";
import { openLedgerStores } from "../support/ledger-storage.ts";
import { runKillRound, runMixedRound } from "./mixed-calls/mixed-round.ts";

it.each([1, 2, 3])(
  "round %i of kills leaves one charge per part, and one whole file",
  async (seed) => {
    await expect(runKillRound(seed, await openLedgerStores("sqlite"))).resolves.toBeDefined();
  },
  60_000,
);

it.each([1, 2, 3, 4, 5, 6])(
  "round %i of mixed calls keeps the promises of each answer, and every statement about money and files is true",
  async (seed) => {
    await expect(runMixedRound(seed, await openLedgerStores("sqlite"))).resolves.toBeDefined();
  },
  60_000,
);

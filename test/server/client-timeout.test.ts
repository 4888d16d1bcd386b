/** The default wait of a client that has given up a call. */
import { expect, it } from "vitest";
import { ClientTimeout } from "../../src/server/client-timeout.ts";

it("is the default wait until the client gives up a call", () => {
  expect(new ClientTimeout().capWaitSeconds(45)).toBe(45);
});

it.each([
  ["two thirds of the time that the client waited", [60_000], 40],
  ["that of the shortest time", [60_000, 30_000, 45_000], 20],
  ["the default wait, if the client waited longer", [600_000], 45],
  ["a second, even if a person stopped the call at once", [200], 1],
])("is %s", (_, waitedMs, waitSeconds) => {
  const timeout = new ClientTimeout();
  for (const ms of waitedMs) timeout.recordGiveUp(ms);
  expect(timeout.capWaitSeconds(45)).toBe(waitSeconds);
});

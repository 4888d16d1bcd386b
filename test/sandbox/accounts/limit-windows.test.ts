/** The limit windows, on a manual clock. */
import { expect, it } from "vitest";
import { AccountLimits } from "../../../src/sandbox/accounts/limit-windows.ts";
import { ManualSandboxClock } from "../manual-sandbox-clock.ts";

const limitsAt = (clock: ManualSandboxClock, timeScale = 1): AccountLimits =>
  new AccountLimits({ clock, timeScale, isEnforced: true });

it("limit windows slide: each slot is free sixty seconds after it was taken", async () => {
  const clock = new ManualSandboxClock();
  const limits = limitsAt(clock);
  for (let count = 0; count < 3; count += 1) limits.admitSubmission("a");
  await clock.advance(30_000);
  for (let count = 0; count < 3; count += 1) limits.admitSubmission("a");
  await clock.advance(29_999);
  expect(limits.admitSubmission("a")).toBe(false);
  await clock.advance(1);
  expect([1, 2, 3, 4].map(() => limits.admitSubmission("a"))).toEqual([true, true, true, false]);
});

it("limit windows are not extended by refusals", async () => {
  const clock = new ManualSandboxClock();
  const limits = limitsAt(clock);
  for (let count = 0; count < 6; count += 1) limits.admitSubmission("a");
  await clock.advance(59_000);
  for (let count = 0; count < 100; count += 1) expect(limits.admitSubmission("a")).toBe(false);
  await clock.advance(1000);
  expect(limits.admitSubmission("a")).toBe(true);
});

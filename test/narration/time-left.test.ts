/** The remaining time of a narration, as reported while it runs. */
import { expect, it } from "vitest";
import type { RunPace } from "../../src/ledger/narration-rows.ts";
import { estimateSecondsLeft, extendByWait } from "../../src/narration/narration-view.ts";

const BEGUN_AT_MS = 1_000_000;

interface Run extends RunPace {
  readonly missingPartCount: number;
}

/** A running narration of four parts. */
const run = (changes: Partial<Run>): Run => ({
  savedCount: 0,
  lastSavedAtMs: null,
  missingPartCount: 4,
  ...changes,
});

const reported = (pace: Run, seconds: number): number =>
  estimateSecondsLeft(BEGUN_AT_MS, pace, pace.missingPartCount, BEGUN_AT_MS + seconds * 1000);

it.each([
  ["before the first part", run({}), 0],
  ["after one", run({ savedCount: 1, missingPartCount: 3, lastSavedAtMs: BEGUN_AT_MS + 18_000 }), 18],
  ["after some that were there at the beginning", run({ missingPartCount: 2 }), 0],
  ["whose time of the last part is unknown", run({ savedCount: 1, missingPartCount: 3 }), 5],
])("the time left never grows while nothing is saved: %s", (_when, pace, from) => {
  const times = Array.from({ length: 120 }, (_, seconds) => reported(pace, from + seconds));
  for (const [index, time] of times.entries()) expect(time).toBeLessThanOrEqual(times[index - 1] ?? time);
  // A narration that takes longer than expected is never reported as nearly done.
  expect(times.at(-1)).toBeGreaterThan(0);
});

it("the time left follows the pace of this run", () => {
  const saved = run({ savedCount: 2, missingPartCount: 2, lastSavedAtMs: BEGUN_AT_MS + 60_000 });
  expect(reported(saved, 60)).toBe(60);
  expect(reported(saved, 80)).toBe(40);
});

it("the time left assumes six new parts a minute, however quickly the first ones were made", () => {
  const quick = { savedCount: 6, lastSavedAtMs: BEGUN_AT_MS + 12_000 };
  expect(reported(run({ ...quick, missingPartCount: 54 }), 12)).toBe(480);
  expect(reported(run({ ...quick, missingPartCount: 6 }), 12)).toBe(12);
});

it("the time left is not shorter than a limit holds all parts, and unknown while nobody knows when they get on", () => {
  const sentence = "Waiting.";
  expect(extendByWait(10, { sentence, waitSeconds: 30 })).toBe(30);
  expect(extendByWait(40, { sentence, waitSeconds: 30 })).toBe(40);
  expect(extendByWait(10, { sentence, waitSeconds: null })).toBeNull();
  expect(extendByWait(10, undefined)).toBe(10);
});

/** The remaining time of a narration, as reported while it runs. */
import { expect, it } from "vitest";
import { buildStoredPlan } from "../../src/narration/planning/build-stored-plan.ts";
import { buildNewState, type NarrationState } from "../../src/narration/state/narration-state.ts";
import { estimateSecondsLeft } from "../../src/narration/views/narration-view.ts";

const BEGUN_AT_MS = 1_000_000;
const PLAN = buildStoredPlan(
  { text: "A text", format: "plain" },
  { settings: {}, voices: {}, pauseSeconds: 0, fileLayout: "one" },
);

/** Builds the state of a running narration of four parts. */
const state = (changes: Partial<NarrationState>): NarrationState => ({
  ...buildNewState(PLAN, BEGUN_AT_MS),
  status: "running",
  totalPartCount: 4,
  startedAtMs: BEGUN_AT_MS,
  ...changes,
});

const reported = (state: NarrationState, seconds: number): number =>
  estimateSecondsLeft(state, state.savedPartCount, BEGUN_AT_MS + seconds * 1000);

it.each([
  ["before the first part", state({}), 0],
  ["after one", state({ savedPartCount: 1, lastSavedAtMs: BEGUN_AT_MS + 18_000 }), 18],
  ["after some that were there at the beginning", state({ savedPartCountAtStart: 2, savedPartCount: 2 }), 0],
  ["stored by a version that did not keep the time of the last part", state({ savedPartCount: 1 }), 5],
])("the time left never grows while nothing is saved: %s", (_when, state, from) => {
  const times = Array.from({ length: 120 }, (_, seconds) => reported(state, from + seconds));
  for (const [index, time] of times.entries()) expect(time).toBeLessThanOrEqual(times[index - 1] ?? time);
  // A narration that takes longer than expected is never reported as nearly done.
  expect(times.at(-1)).toBeGreaterThan(0);
});

it("the time left follows the pace of this run", () => {
  const saved = state({ savedPartCount: 2, lastSavedAtMs: BEGUN_AT_MS + 60_000 });
  expect(reported(saved, 60)).toBe(60);
  expect(reported(saved, 80)).toBe(40);
});

it("the time left assumes six new parts a minute, however quickly the first ones were made", () => {
  const quick = { savedPartCount: 6, lastSavedAtMs: BEGUN_AT_MS + 12_000 };
  expect(reported(state({ ...quick, totalPartCount: 60 }), 12)).toBe(480);
  expect(reported(state({ ...quick, totalPartCount: 12 }), 12)).toBe(12);
});

/** The calibration of displayed estimates: the median ratio of earlier tasks, within bounds, or 1 for too few tasks. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { estimateSeconds } from "../../src/contract/estimate.ts";
import type { RequestRow } from "../../src/ledger/schema.ts";
import { computeCalibration } from "../../src/requests/estimate-calibration.ts";
import { sampleRequest } from "../support/sample-request.ts";

const PROMPT = "It was a bright cold day in April, and the clocks were striking thirteen. ".repeat(3);

interface MeasuredTask {
  readonly ratio: number | null;
  readonly speed?: number;
  readonly voice?: string;
  readonly prompt?: string;
}

function measuredTask({
  ratio,
  speed = 1,
  voice = "sophie_en_zh",
  prompt = PROMPT,
}: MeasuredTask): RequestRow {
  const body = JSON.stringify({ prompt, speed, voice });
  const seconds = ratio === null ? null : (estimateSeconds(prompt) / speed) * ratio;
  return sampleRequest({ status: "saved", body, audio_seconds: seconds });
}

const all = (...ratios: number[]): RequestRow[] => ratios.map((ratio) => measuredTask({ ratio }));

it.each([
  ["nothing is known", [], 1],
  ["four tasks are too few", all(1.4, 1.4, 1.4, 1.4), 1],
  ["five are enough", all(1.4, 1.4, 1.4, 1.4, 1.4), 1.4],
  ["of an even number the middle two count", all(1.1, 1.2, 1.2, 1.4, 1.5, 9), 1.3],
  ["two that are far off move nothing", all(1.2, 1.2, 1.2, 50, 0.01), 1.2],
  ["far more than estimated counts twice at most", all(9, 9, 9, 9, 9), 2],
  ["far less than estimated counts half at least", all(0.1, 0.1, 0.1, 0.1, 0.1), 0.5],
  [
    "a speed that was asked for is not a pace",
    [0.5, 0.8, 1, 1.5, 2].map((speed) => measuredTask({ ratio: 1.3, speed })),
    1.3,
  ],
  ["no short texts", Array.from({ length: 9 }, () => measuredTask({ ratio: 1.9, prompt: "Hello." })), 1],
  ["what has no length does not count", Array.from({ length: 9 }, () => measuredTask({ ratio: null })), 1],
  ["a task made elsewhere does not count", Array.from({ length: 9 }, () => sampleRequest({ body: null })), 1],
])("%s", (_what, records, expected) => {
  expect(computeCalibration(records, "sophie_en_zh")).toBeCloseTo(expected, 6);
});

it("the pace uses tasks of the same voice if there are enough, otherwise tasks of all voices", () => {
  const slow = Array.from({ length: 5 }, () => measuredTask({ ratio: 1.6, voice: "magnus_en_zh" }));
  const fast = Array.from({ length: 7 }, () => measuredTask({ ratio: 0.8 }));
  expect(computeCalibration([...slow, ...fast], "magnus_en_zh")).toBeCloseTo(1.6, 6);
  expect(computeCalibration([...slow, ...fast], "sophie_en_zh")).toBeCloseTo(0.8, 6);
  expect(computeCalibration([...slow, ...fast], "felix_zh")).toBeCloseTo(0.8, 6);
});

it("the pace stays within its bounds for any records in any order", () => {
  const anyRecord = fc
    .record({
      ratio: fc.option(fc.double({ min: 1e-6, max: 1e6, noNaN: true })),
      speed: fc.double({ min: 0.5, max: 2, noNaN: true }),
    })
    .map(measuredTask);
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 30 }), (records) => {
      const pace = computeCalibration(records, null);
      expect(pace).toBeGreaterThanOrEqual(0.5);
      expect(pace).toBeLessThanOrEqual(2);
      expect(computeCalibration([...records].reverse(), null)).toBe(pace);
    }),
  );
});

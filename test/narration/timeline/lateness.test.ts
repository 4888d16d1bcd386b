/** The report of late cues: which part makes a cue late, by how much, and the speed at which the part would fit. */
import { expect, it } from "vitest";
import { buildLateRemarks, findOverruns } from "../../../src/narration/timeline/lateness.ts";

const timed = (startSeconds: number | undefined, lengthSeconds: number, cue?: string, speed = 1) => ({
  startSeconds,
  lengthSeconds,
  cue,
  speed,
});

it("the report names the part that runs into the next cue, and nothing if all fit", () => {
  expect(findOverruns([timed(1, 2, "1"), timed(3, 1, "2")])).toEqual([]);
  const [late] = findOverruns([timed(1, 3, "1"), timed(3.1, 1, "2")]);
  expect(late).toMatchObject({ partIndex: 0, nextCue: "2", furtherLateCueCount: 0 });
  expect(late?.lateSeconds).toBeCloseTo(0.9);
  expect(late?.fittingSpeed).toBe(1.5);
});

it("the report counts cues that are late only because one before them is", () => {
  const late = findOverruns([timed(0, 4, "1"), timed(2, 1, "2"), timed(3.2, 1, "3"), timed(9, 1, "4")]);
  expect(late).toMatchObject([{ partIndex: 0, nextCue: "2", furtherLateCueCount: 1 }]);
});

it("the report groups parts without their own time, and names the longest", () => {
  const late = findOverruns([timed(0, 0.5, "1"), timed(undefined, 2), timed(2, 1, "2")]);
  expect(late).toMatchObject([{ partIndex: 1, nextCue: "2" }]);
  expect(late[0]?.fittingSpeed).toBe(1.45);
});

it("the report uses the length of existing audio", () => {
  expect(findOverruns([timed(0, 1, "1"), timed(1, 1, "2")], undefined, [0, 1.04])).toEqual([]);
  expect(findOverruns([timed(0, 1, "1"), timed(1, 1, "2")], undefined, [0, 1.06])).toHaveLength(1);
});

it.each([
  [1, 1.02, 1.05],
  [1, 1.2, 1.2],
  [1.5, 1.3, 1.95],
  [1, 2, 2],
  [1, 2.01, null],
])(
  "the report offers the next speed that fits, and none above 2: %f, too long by the factor %f",
  (speed, factor, fitting) => {
    const [late] = findOverruns([timed(0, 8 * factor, "1", speed), timed(8.1, 1, "2")], undefined, [
      0,
      8 * factor,
    ]);
    expect(late?.fittingSpeed).toBe(fitting);
  },
);

it("the report ignores lateness within the error of the estimate", () => {
  expect(findOverruns([timed(0, 1.2, "1"), timed(1, 1, "2")])).toEqual([]);
});

it("the report says in the plan which do not fit, and the speed for the whole only if there is one", () => {
  const [words] = buildLateRemarks([timed(0, 3, "1"), timed(2.1, 1, "2")]);
  const remark =
    "1 part is estimated to run into the next cue, which then begins late: cue 1 (speed 1.5). At speed 1.5 for the whole text, nothing is estimated to be late.";
  expect(words).toEqual({
    assistant: `${remark} Only these faster: retakes [{"quote":"cue 1","speed":1.5}, …].`,
    terminal: `${remark} Only these faster: --retake "@1.5=cue 1" for each.`,
  });
  const [both] = buildLateRemarks([timed(0, 3, "1"), timed(0, 1, "2"), timed(9, 1, "3")]);
  expect(both?.assistant).toBe(
    "1 part is estimated to run into the next cue, which then begins late: cue 1 (no speed is fast enough).",
  );
});

it("the report names a last part that ends after the last cue, and its speed that fits", () => {
  const parts = [timed(1, 1, "1"), timed(3, 3, "2")];
  expect(findOverruns(parts)).toEqual([]);
  expect(findOverruns(parts, 6)).toEqual([]);
  expect(findOverruns(parts, 5)).toMatchObject([{ partIndex: 1, nextCue: null, fittingSpeed: 1.5 }]);
  expect(findOverruns(parts, 5.98, [1, 3.04])).toHaveLength(1);
  const [words] = buildLateRemarks(parts, 5);
  expect(words?.assistant).toBe(
    'The end is estimated to come 1.0 s late: cue 2 (speed 1.5). At speed 1.5 for the whole text, nothing is estimated to be late. Only these faster: retakes [{"quote":"cue 2","speed":1.5}, …].',
  );
});

it("the report does not blame the last part for a delay that an earlier part causes", () => {
  const late = findOverruns([timed(0, 4, "1"), timed(2, 1, "2")], 3.2);
  expect(late).toMatchObject([{ partIndex: 0, nextCue: "2", furtherLateCueCount: 0 }]);
});

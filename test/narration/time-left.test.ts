/** The remaining time of a narration, and of each missing part, as reported while it runs. */
import { expect, it } from "vitest";
import type { RunPace } from "../../src/ledger/narration-rows.ts";
import { estimateSecondsLeft, forecastSaves } from "../../src/narration/time-left.ts";

const WINDOW_SECONDS = 60;

interface Made {
  readonly sentAt: number;
  readonly madeAt: number;
}

/**
 * Makes parts as the service does, two at a time and six a minute, in seconds from the beginning.
 *
 * @param takesSeconds how long each part takes
 */
function makeParts(takesSeconds: readonly number[]): Made[] {
  const made: Made[] = [];
  let now = 0;
  for (const takes of takesSeconds) {
    const isFree = (): boolean =>
      made.filter(({ madeAt }) => madeAt > now).length < 2 &&
      made.filter(({ sentAt }) => sentAt > now - WINDOW_SECONDS).length < 6;
    while (!isFree()) now += 0.25;
    made.push({ sentAt: now, madeAt: now + takes });
  }
  return made;
}

/** What the ledger has of a run at a moment. */
function paceAt(made: readonly Made[], now: number): RunPace {
  const attempts = made.flatMap(({ sentAt, madeAt }, index) =>
    sentAt > now
      ? []
      : [
          {
            request: `r${index + 1}`,
            status: madeAt <= now ? ("saved" as const) : ("processing" as const),
            sentAtMs: sentAt * 1000,
            madeAtMs: madeAt <= now ? madeAt * 1000 : null,
          },
        ],
  );
  return { windowSeconds: WINDOW_SECONDS, attempts: attempts.reverse().slice(0, 12) };
}

const countMissing = (made: readonly Made[], now: number): number =>
  made.filter(({ madeAt }) => madeAt > now).length;

/** Times that vary as those of the service do, around an average. */
const vary = (count: number, average: number, range: number): number[] =>
  Array.from({ length: count }, (_, index) => average + (((index * 7) % 11) / 5 - 1) * range);

it.each([
  ["a few parts", vary(4, 12, 4), 1],
  ["parts of two waves", vary(12, 12, 4), 1],
  ["parts of one wave more than two", vary(13, 14, 5), 1],
  ["many parts", vary(60, 13, 5), 1],
  ["quick parts", vary(30, 4, 2), 1],
  // Parts that take much longer than usual are known after some.
  ["parts that take half a minute", vary(20, 30, 8), 4],
])("the time left is not too low, and not much too high: %s", (_what, takes, knownAfter) => {
  const made = makeParts(takes);
  const end = Math.max(...made.map(({ madeAt }) => madeAt));
  for (let now = made[knownAfter - 1]?.madeAt ?? 0; now < end; now += 0.5) {
    const told = estimateSecondsLeft(paceAt(made, now), countMissing(made, now), now * 1000) ?? 0;
    const left = end - now;
    expect(told, `${left} s before the end`).toBeGreaterThan(left * 0.9 - 3);
    expect(told, `${left} s before the end`).toBeLessThan(left * 1.3 + 15);
  }
});

it("the time left never grows while nothing is made, and a part that takes long is not nearly done", () => {
  for (const stuckAt of [0, 3, 6, 9]) {
    const made = makeParts(vary(14, 12, 4).map((takes, index) => (index >= stuckAt ? 10_000 : takes)));
    const last = Math.max(0, ...made.slice(0, stuckAt).map(({ madeAt }) => madeAt));
    let earlier = Number.POSITIVE_INFINITY;
    for (let now = last; now < last + 300; now += 1) {
      const told = estimateSecondsLeft(paceAt(made, now), countMissing(made, now), now * 1000) ?? 0;
      expect(told).toBeLessThanOrEqual(earlier);
      earlier = told;
    }
    expect(earlier).toBeGreaterThan(0);
  }
});

it("the time of a part that is jumped to has the wait for its turn and its making", () => {
  // Six parts of 12 s are made after 36 s, and the next one is sent after 60 s.
  const made = makeParts(Array.from({ length: 20 }, () => 12));
  const forecast = forecastSaves(paceAt(made, 40), () => 14, 40_000, null);
  expect(forecast?.unsent[0]).toBeGreaterThanOrEqual(32);
  expect(forecast?.unsent[0]).toBeLessThan(40);
  // One that was sent 4 s ago has 8 s to go.
  const running = forecastSaves(paceAt(made, 64), () => 12, 64_000, null);
  expect([...(running?.sent.keys() ?? [])]).toEqual(["r8", "r7"]);
  expect(running?.sent.get("r7")).toBeGreaterThanOrEqual(8);
  expect(running?.sent.get("r7")).toBeLessThan(14);
});

it("the time left follows a run that has only a share of the service", () => {
  // Another narration sends every second part.
  const made = Array.from({ length: 20 }, (_, index) => ({ sentAt: index * 20, madeAt: index * 20 + 12 }));
  const told = estimateSecondsLeft(paceAt(made, 195), 10, 195_000) ?? 0;
  expect(told).toBeGreaterThanOrEqual((made[19]?.madeAt ?? 0) - 195);
  expect(told).toBeLessThan(230);
});

it("the time left begins with the wait for a limit, and is unknown while nobody knows when parts get on", () => {
  const sentence = "Waiting.";
  const pace = paceAt(makeParts([12, 12]), 30);
  const usual = estimateSecondsLeft(pace, 1, 30_000) ?? 0;
  expect(estimateSecondsLeft(pace, 1, 30_000, { sentence, waitSeconds: 30 })).toBe(usual + 30);
  expect(estimateSecondsLeft(pace, 1, 30_000, { sentence, waitSeconds: null })).toBeNull();
});

it("a night in which the program did not run counts neither as making nor as a pause", () => {
  const NIGHT = 36_000;
  const made = makeParts(vary(14, 12, 4));
  const last = made[4]?.sentAt ?? 0;
  // The parts that were under way in the evening are seen to be made in the morning.
  const seen = made.map(({ sentAt, madeAt }) => ({
    sentAt: sentAt > last ? sentAt + NIGHT : sentAt,
    madeAt: madeAt > last ? madeAt + NIGHT : madeAt,
  }));
  const now = (made[6]?.madeAt ?? 0) + NIGHT;
  const told = estimateSecondsLeft(paceAt(seen, now), countMissing(seen, now), now * 1000) ?? 0;
  expect(told).toBeLessThan(120);
  expect(told).toBeGreaterThan(40);
});

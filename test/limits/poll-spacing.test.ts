/** Polls are spaced so that reads remain for other calls. The clock is manual. */
import { expect, it } from "vitest";
import type { Limits } from "../../src/limits/limits.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { LIMIT_WINDOW_MS, type LimitsUnderTest, NEVER_ABORTED, startLimits } from "./limits-under-test.ts";

/** Polls forever, every `intervalMs`. Returns lists that grow: the time of each poll, and each reported wait. */
function startPolling(
  subject: LimitsUnderTest,
  limits: Limits,
  intervalMs: number,
): { pollTimesMs: number[]; waitReasons: string[] } {
  const pollTimesMs: number[] = [];
  const waitReasons: string[] = [];
  const recordPoll = async (): Promise<void> => {
    pollTimesMs.push(subject.clock.steadyMs());
  };
  const run = async (): Promise<void> => {
    for (;;) {
      await limits.reads.run(NEVER_ABORTED, recordPoll, {
        isPoll: true,
        onWaiting: (reason) => waitReasons.push(reason),
      });
      await subject.clock.sleep(intervalMs);
    }
  };
  run().catch(() => {});
  return { pollTimesMs, waitReasons };
}

function longestGapMs(pollTimesMs: readonly number[], untilMs: number): number {
  return Math.max(...pollTimesMs.map((at, index) => (pollTimesMs[index + 1] ?? untilMs) - at));
}

/** Returns the maximum number of polls in any rate window. */
function maxPollsInWindow(pollTimesMs: readonly number[]): number {
  const sorted = pollTimesMs.toSorted((a, b) => a - b);
  return Math.max(
    ...sorted.map((at) => sorted.filter((other) => other >= at && other < at + LIMIT_WINDOW_MS).length),
  );
}

it("polls every 0.1 s are slowed down before the read limit is reached, and never stop", async () => {
  const subject = startLimits();
  const startMs = subject.clock.steadyMs();
  const { pollTimesMs, waitReasons } = startPolling(subject, subject.limits, 100);
  await subject.clock.advance(3 * LIMIT_WINDOW_MS);
  expect(pollTimesMs.filter((at) => at < startMs + 4000).length).toBeGreaterThanOrEqual(30);
  expect(longestGapMs(pollTimesMs, startMs + 3 * LIMIT_WINDOW_MS)).toBeLessThan(8000);
  expect(maxPollsInWindow(pollTimesMs)).toBeLessThanOrEqual(52);
  expect(waitReasons).toEqual([]);
});

it("two tasks polled at once share the reads fairly", async () => {
  const subject = startLimits();
  const startMs = subject.clock.steadyMs();
  const taskPolls = [startPolling(subject, subject.limits, 100), startPolling(subject, subject.limits, 100)];
  await subject.clock.advance(2 * LIMIT_WINDOW_MS);
  for (const { pollTimesMs } of taskPolls) {
    expect(longestGapMs(pollTimesMs, startMs + 2 * LIMIT_WINDOW_MS)).toBeLessThan(16_000);
  }
  expect(maxPollsInWindow(taskPolls.flatMap(({ pollTimesMs }) => pollTimesMs))).toBeLessThanOrEqual(52);
});

it("two tasks polled at the usual 5 s are not slowed down", async () => {
  const subject = startLimits();
  const taskPolls = [
    startPolling(subject, subject.limits, 5000),
    startPolling(subject, subject.limits, 5000),
  ];
  await subject.clock.advance(2 * LIMIT_WINDOW_MS);
  for (const { pollTimesMs } of taskPolls) {
    expect(pollTimesMs.slice(1).every((at, index) => at - (pollTimesMs[index] ?? 0) === 5000)).toBe(true);
  }
});

it("polls leave eight reads for explicit queries, which run at once", async () => {
  const subject = startLimits();
  const { pollTimesMs } = startPolling(subject, subject.limits, 100);
  await subject.clock.advance(30_000);
  expect(maxPollsInWindow(pollTimesMs)).toBeLessThanOrEqual(52);
  let queriesRun = 0;
  const runQuery = async (): Promise<void> => {
    queriesRun += 1;
  };
  for (let count = 0; count < 8; count += 1)
    void subject.limits.reads.run(NEVER_ABORTED, runQuery).catch(() => {});
  await drainEventLoop();
  await drainEventLoop();
  expect(queriesRun).toBe(8);
});

it("the reason is reported to a waiting caller: the rate limit or a cooldown", async () => {
  const { clock, limits } = startLimits();
  const waits: Array<[string, number]> = [];
  const startRead = (): void => {
    const onWaiting = (reason: string, waitMs: number): void => {
      waits.push([reason, waitMs]);
    };
    void limits.reads.run(NEVER_ABORTED, async () => {}, { onWaiting }).catch(() => {});
  };
  for (let count = 0; count < 61; count += 1) startRead();
  await drainEventLoop();
  await drainEventLoop();
  expect(waits).toEqual([["rate", LIMIT_WINDOW_MS]]);
  await clock.advance(LIMIT_WINDOW_MS + 1);
  waits.length = 0;
  await limits.startCooldown("reads", 30);
  startRead();
  await drainEventLoop();
  expect(waits).toEqual([["cooldown", 30_000]]);
});

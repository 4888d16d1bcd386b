/** The pace of polling, and the share of reads that it leaves for other calls, with a manual clock. */
import { expect, it } from "vitest";
import type { Limits } from "../../src/limits/limits.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { type LimitsUnderTest, never, startLimits, WINDOW_MS } from "./limits-under-test.ts";

/** Polls for ever, `intervalMs` apart. Records when each poll ran, and each reported wait. */
function poll(
  subject: LimitsUnderTest,
  limits: Limits,
  intervalMs: number,
): { atMs: number[]; waits: string[] } {
  const seen = { atMs: [] as number[], waits: [] as string[] };
  const one = async (): Promise<void> => {
    seen.atMs.push(subject.clock.steadyMs());
  };
  const run = async (): Promise<void> => {
    for (;;) {
      await limits.reads.run(never, one, { isPoll: true, onWaiting: (reason) => seen.waits.push(reason) });
      await subject.clock.sleep(intervalMs);
    }
  };
  run().catch(() => {});
  return seen;
}

function longestGap(atMs: readonly number[], untilMs: number): number {
  return Math.max(...atMs.map((at, index) => (atMs[index + 1] ?? untilMs) - at));
}

/** Returns the maximum number of reads in any window. */
function maxReadsInWindow(atMs: readonly number[]): number {
  const sorted = atMs.toSorted((a, b) => a - b);
  return Math.max(...sorted.map((at) => sorted.filter((one) => one >= at && one < at + 60_000).length));
}

it("polls every 0.1 s are slowed down before the reads are used up, and never stop", async () => {
  const subject = startLimits();
  const beganMs = subject.clock.steadyMs();
  const { atMs, waits } = poll(subject, subject.limits, 100);
  await subject.clock.advance(3 * WINDOW_MS);
  expect(atMs.filter((at) => at < beganMs + 4000).length).toBeGreaterThanOrEqual(30);
  expect(longestGap(atMs, beganMs + 3 * WINDOW_MS)).toBeLessThan(8000);
  expect(maxReadsInWindow(atMs)).toBeLessThanOrEqual(52);
  expect(waits).toEqual([]);
});

it("two tasks polled at once share the pace fairly", async () => {
  const subject = startLimits();
  const beganMs = subject.clock.steadyMs();
  const tasks = [poll(subject, subject.limits, 100), poll(subject, subject.limits, 100)];
  await subject.clock.advance(2 * WINDOW_MS);
  for (const { atMs } of tasks) {
    expect(longestGap(atMs, beganMs + 2 * WINDOW_MS)).toBeLessThan(16_000);
  }
  expect(maxReadsInWindow(tasks.flatMap(({ atMs }) => atMs))).toBeLessThanOrEqual(52);
});

it("two tasks at the usual 5 s are not slowed down", async () => {
  const subject = startLimits();
  const tasks = [poll(subject, subject.limits, 5000), poll(subject, subject.limits, 5000)];
  await subject.clock.advance(2 * WINDOW_MS);
  for (const { atMs } of tasks) {
    expect(atMs.slice(1).every((at, index) => at - (atMs[index] ?? 0) === 5000)).toBe(true);
  }
});

it("polls leave eight reads to other queries, which are answered at once", async () => {
  const subject = startLimits();
  const { atMs } = poll(subject, subject.limits, 100);
  await subject.clock.advance(30_000);
  expect(maxReadsInWindow(atMs)).toBeLessThanOrEqual(52);
  let read = 0;
  const explicit = async (): Promise<void> => {
    read += 1;
  };
  for (let count = 0; count < 8; count += 1) void subject.limits.reads.run(never, explicit).catch(() => {});
  await drainEventLoop();
  await drainEventLoop();
  expect(read).toBe(8);
});

it("a waiting caller learns why: the reads of the minute, or a pause", async () => {
  const { clock, limits } = startLimits();
  const waits: Array<[string, number]> = [];
  const ask = (): void => {
    const onWaiting = (reason: string, waitMs: number): void => {
      waits.push([reason, waitMs]);
    };
    void limits.reads.run(never, async () => {}, { onWaiting }).catch(() => {});
  };
  for (let count = 0; count < 61; count += 1) ask();
  await drainEventLoop();
  await drainEventLoop();
  expect(waits).toEqual([["rate", WINDOW_MS]]);
  await clock.advance(WINDOW_MS + 1);
  waits.length = 0;
  await limits.startCooldown("reads", 30);
  ask();
  await drainEventLoop();
  expect(waits).toEqual([["cooldown", 30_000]]);
});

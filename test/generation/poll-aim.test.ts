/** Where the grid of polls is put: never early, soon right, and no worse than without it where nothing can be known. */
import { describe, expect, it } from "vitest";
import { PollAim } from "../../src/generation/job/poll-aim.ts";

const INTERVAL_MS = 5000;

/** How late the end of a task is seen that takes so long; the aim learns from it as a watcher would tell it. */
function watch(aim: PollAim, speechSeconds: number, tookMs: number): number {
  const aimed = aim.begin("task", speechSeconds);
  let pollMs = aimed.firstPollMs;
  for (; pollMs < tookMs; pollMs += INTERVAL_MS) aimed.ran(pollMs);
  aimed.ended(pollMs + 30);
  aimed.leave();
  return pollMs - Math.max(INTERVAL_MS, tookMs);
}

const mean = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** Tasks one after the other. */
function lateness(aim: PollAim, tasks: number, tookMs: (speechSeconds: number, task: number) => number) {
  return Array.from({ length: tasks }, (_, task) => {
    const speechSeconds = 15 + ((task * 7) % 19) * 4;
    return watch(aim, speechSeconds, tookMs(speechSeconds, task));
  });
}

/** Numbers from 0 to 1 that are the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

describe("the aim of polls", () => {
  it("is the interval as long as nothing is known", () => {
    const aim = new PollAim(INTERVAL_MS, 1);
    expect(aim.begin("task", 60).firstPollMs).toBe(INTERVAL_MS);
    expect(aim.begin("task", 10).firstPollMs).toBe(INTERVAL_MS);
  });

  it("is never less than the interval, and less than two, whatever was seen", () => {
    const next = random(7);
    const aim = new PollAim(INTERVAL_MS, 1);
    for (let task = 0; task < 300; task += 1) {
      const aimed = aim.begin("task", next() * 120);
      expect(aimed.firstPollMs).toBeGreaterThanOrEqual(INTERVAL_MS);
      expect(aimed.firstPollMs).toBeLessThan(2 * INTERVAL_MS);
      if (next() < 0.8) aimed.ran(next() * 200_000);
      if (next() < 0.8) aimed.ended(next() * 200_000);
      if (next() < 0.5) aimed.leave();
    }
  });

  it.each([6, 12.4, 17, 20, 21, 24.9, 33, 61])("finds a time that is always the same (%d s)", (seconds) => {
    const late = lateness(new PollAim(INTERVAL_MS, 1), 40, () => seconds * 1000);
    expect(Math.max(...late.slice(12))).toBeLessThan(0.08 * INTERVAL_MS);
    // What finding it costs is less than the grid of a task in ten at its worst.
    expect(late.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(6 * INTERVAL_MS);
  });

  it("finds a time that grows with the length of the text", () => {
    const late = lateness(new PollAim(INTERVAL_MS, 1), 60, (speech) => 5000 + 400 * speech);
    expect(mean(late.slice(30))).toBeLessThan(0.15 * INTERVAL_MS);
  });

  it("asks a fast service for every text at the first time allowed", () => {
    expect(Math.max(...lateness(new PollAim(INTERVAL_MS, 1), 40, (speech) => 20 * speech))).toBe(0);
  });

  it("follows a service that becomes slower, and faster again", () => {
    const aim = new PollAim(INTERVAL_MS, 1);
    lateness(aim, 40, () => 21_000);
    expect(mean(lateness(aim, 40, () => 33_000).slice(25))).toBeLessThan(0.15 * INTERVAL_MS);
    expect(mean(lateness(aim, 40, () => 17_500).slice(25))).toBeLessThan(0.15 * INTERVAL_MS);
  });

  it("is not misled by one task that took five minutes", () => {
    const aim = new PollAim(INTERVAL_MS, 1);
    lateness(aim, 40, () => 21_000);
    watch(aim, 40, 300_000);
    expect(Math.max(...lateness(aim, 10, () => 21_000))).toBeLessThan(0.08 * INTERVAL_MS);
  });

  it("costs no more than a grid laid anywhere where times differ too much to be learnt", () => {
    const next = random(3);
    const late = lateness(new PollAim(INTERVAL_MS, 1), 400, () => 20_000 + next() * 10_000);
    expect(mean(late)).toBeLessThan(0.56 * INTERVAL_MS);
  });

  it("probes with one task at a time, and with the next once that is left or asked in vain", () => {
    const aim = new PollAim(INTERVAL_MS, 1);
    watch(aim, 60, 18_000);
    // It ended after 15 s and by 20.03 s: one task is asked midway, its companions when it should be over.
    const probe = aim.begin("task", 60);
    expect(probe.firstPollMs).toBeCloseTo(7515, 0);
    expect(aim.begin("task", 60).firstPollMs).toBeCloseTo(5130, 0);
    probe.leave();
    const second = aim.begin("task", 60);
    expect(second.firstPollMs).toBeCloseTo(7515, 0);
    second.ran(17_515);
    expect(aim.begin("task", 60).firstPollMs).toBeGreaterThan(9000);
  });

  it("is the same in time that runs a hundred times faster", () => {
    const [slow, fast] = [new PollAim(INTERVAL_MS, 1), new PollAim(INTERVAL_MS / 100, 0.01)];
    for (const speech of [20, 40, 60, 80]) {
      const [one, other] = [slow.begin("task", speech), fast.begin("task", speech)];
      expect(other.firstPollMs * 100).toBeCloseTo(one.firstPollMs, 5);
      one.ran(4000 + 290 * speech);
      other.ran((4000 + 290 * speech) / 100);
      one.ended(5000 + 300 * speech);
      other.ended((5000 + 300 * speech) / 100);
    }
  });
});

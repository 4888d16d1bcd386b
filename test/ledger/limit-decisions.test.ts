/** Decisions on the service's limits, as functions of facts: six submissions and 60 reads a minute, two tasks, pauses. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideHold, type LimitFacts } from "../../src/ledger/admission.ts";
import { parseCooldownEnd, parseStamps } from "../../src/ledger/gate.ts";
import { buildLimitTiming, computePollSpacingMs, MAX_POLLS } from "../../src/ledger/limit-timing.ts";
import { decideReadHold } from "../../src/ledger/read-limits.ts";

const TIMING = buildLimitTiming(1);
const { windowMs } = TIMING;
const NOW_MS = 1_000_000;
const FREE: LimitFacts = { cooldownUntilMs: 0, sends: [], slotEndsMs: [], mustLetPass: false };

const sendsAgo = (...agoMs: number[]) => agoMs.map((ago) => ({ id: `${ago}`, atSteadyMs: NOW_MS - ago }));
const decide = (facts: Partial<LimitFacts>) => decideHold({ ...FREE, ...facts }, TIMING, NOW_MS);

describe("a submission", () => {
  it("is held by the one of more than six that leaves room, whatever their order", () => {
    const hold = decide({ sends: sendsAgo(1, 50_000, 2, 40_000, 3, 30_000, 4, 20_000) });
    expect(hold).toEqual({ reason: "rate", retryMs: windowMs - 30_000 });
  });

  it("is not held by a pause that no service can ask for: the clock has restarted", () => {
    expect(parseCooldownEnd(NOW_MS + 24 * 3_600_000, NOW_MS)).toBe(0);
    expect(parseCooldownEnd(NOW_MS + 600_000, NOW_MS)).toBe(NOW_MS + 600_000);
  });

  it("never leaves if six did within the minute, in any history", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 12 }), (ages) => {
        const text = JSON.stringify(sendsAgo(...ages));
        const sends = parseStamps(text, NOW_MS, windowMs, TIMING.unansweredSlotMs);
        const recent = ages.filter((age) => age < windowMs).length;
        expect(sends).toHaveLength(recent);
        expect(decide({ sends }) === null).toBe(recent < 6);
      }),
    );
  });
});

describe("stamps of the last minute", () => {
  it("count as none if they are damaged", () => {
    for (const text of ["", "{", "null", '["odd"]', '[{"atSteadyMs":"1"}]'])
      expect(parseStamps(text, NOW_MS, windowMs, 0)).toEqual([]);
  });

  it("of the future count as now, because the steady clock has restarted", () => {
    expect(parseStamps(`[{"atSteadyMs":${NOW_MS * 9}}]`, NOW_MS, windowMs, 0)).toEqual([
      { atSteadyMs: NOW_MS },
    ]);
  });

  it("of a send without an answer count longer", () => {
    const open = [{ id: "open", atSteadyMs: NOW_MS - windowMs - 1, isOpen: true }];
    expect(parseStamps(JSON.stringify(open), NOW_MS, windowMs, 1000)).toEqual(open);
    expect(parseStamps(JSON.stringify(open), NOW_MS, windowMs, 0)).toEqual([]);
  });
});

describe("a read", () => {
  const readsAgo = (...agoMs: number[]) =>
    agoMs.map((ago) => ({ atSteadyMs: NOW_MS - ago, isPoll: true })).reverse();
  const decideRead = (reads: readonly { atSteadyMs: number; isPoll?: boolean }[], isPoll: boolean) =>
    decideReadHold(reads, 0, isPoll, windowMs, NOW_MS);

  it("is one of 60 in a minute, and waits for the oldest of them", () => {
    const reads = readsAgo(...Array.from({ length: 59 }, (_, index) => index * 1000));
    expect(decideRead(reads, false)).toBeNull();
    const full = readsAgo(...Array.from({ length: 60 }, (_, index) => index * 1000));
    expect(decideRead(full, false)).toEqual({ reason: "rate", waitMs: windowMs - 59_000 });
  });

  it("waits for a pause that the service asked for", () => {
    expect(decideReadHold([], NOW_MS + 7000, false, windowMs, NOW_MS)).toEqual({
      reason: "cooldown",
      waitMs: 7000,
    });
  });

  it("that is a poll leaves eight reads of each minute for explicit queries and downloads", () => {
    expect(MAX_POLLS).toBe(52);
    const polled = readsAgo(...Array.from({ length: 52 }, (_, index) => windowMs - 60_000 + 8000 + index));
    expect(decideRead(polled, true)?.reason).toMatch(/rate|pace/);
    expect(decideRead(polled, false)).toBeNull();
  });
});

describe("the spacing of polls", () => {
  it("is nothing until half of the reads are used", () => {
    for (const used of [0, 1, 29, 30]) expect(computePollSpacingMs(used, windowMs)).toBe(0);
    expect(computePollSpacingMs(31, windowMs)).toBeGreaterThan(0);
  });

  it("grows with the reads that are used, and never stops the polls", () => {
    const spacings = Array.from({ length: 80 }, (_, used) => computePollSpacingMs(used, windowMs));
    for (const [index, spacing] of spacings.entries())
      expect(spacing).toBeGreaterThanOrEqual(spacings[index - 1] ?? 0);
    expect(spacings.at(-1)).toBeLessThanOrEqual(windowMs / 8);
  });

  it("keeps tasks that are polled every 0.1 s within the limit of reads, and each gets its polls", () => {
    let nowMs = NOW_MS;
    const polls = { one: 0, other: 0 };
    let reads: Array<{ atSteadyMs: number; isPoll: boolean }> = [];
    let waitMs = 0;
    let next: keyof typeof polls = "one";
    for (; nowMs < NOW_MS + 10 * windowMs; nowMs += Math.max(100, waitMs)) {
      reads = reads.filter(({ atSteadyMs }) => atSteadyMs > nowMs - windowMs);
      const hold = decideReadHold(reads, 0, true, windowMs, nowMs);
      waitMs = hold?.waitMs ?? 0;
      if (hold !== null) continue;
      reads.push({ atSteadyMs: nowMs, isPoll: true });
      expect(reads.length).toBeLessThanOrEqual(MAX_POLLS);
      polls[next] += 1;
      next = next === "one" ? "other" : "one";
    }
    // At least eight polls a minute, shared by both.
    expect(polls.one).toBeGreaterThanOrEqual(40);
    expect(polls.other).toBeGreaterThanOrEqual(39);
  });
});

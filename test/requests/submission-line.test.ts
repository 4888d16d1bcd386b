/** The line of submissions: only the first asks, lower ranks go first, and equal ranks in the order of arrival. */
import { describe, expect, it } from "vitest";
import { AudioError } from "../../src/errors.ts";
import type { Admission, HoldReason } from "../../src/ledger/admission.ts";
import { SubmissionLine } from "../../src/requests/submission-line.ts";
import { drainEventLoop, ManualClock } from "../support/manual-clock.ts";

const GONE: Admission = { kind: "unwanted" };
const held = (reason: HoldReason, retryMs: number): Admission => ({ kind: "hold", reason, retryMs });

/** Lets submissions enter a line whose limits the test opens and closes. Notes who asks, and who leaves. */
function lineUnderTest() {
  const clock = new ManualClock();
  let answer: Admission = held("rate", 1000);
  let slotsFullCount = 0;
  const asked: string[] = [];
  const left: string[] = [];
  const heldBy: Array<string | undefined> = [];
  const onSlotsFull = (): void => {
    slotsFullCount += 1;
  };
  const line: SubmissionLine = new SubmissionLine(clock, onSlotsFull, () => heldBy.push(line.hold?.reason));
  const enter = (name: string, rank: number, signal = new AbortController().signal): Promise<void> =>
    line
      .enter(rank, signal, async () => {
        asked.push(name);
        return answer;
      })
      .then(() => void left.push(name));
  return {
    clock,
    line,
    asked,
    left,
    heldBy,
    enter,
    answerWith: (next: Admission): void => {
      answer = next;
    },
    slotsFullCount: (): number => slotsFullCount,
  };
}

const RESENT = 0;
const DIRECT = 1;
const PART = 2;

describe("the line of submissions", () => {
  it("lets equal ranks leave in the order of arrival, and asks for the first alone", async () => {
    const { clock, asked, left, enter, answerWith } = lineUnderTest();
    const all = ["one", "two", "three"].map((name) => enter(name, DIRECT));
    await clock.advance(5000);
    expect(new Set(asked)).toEqual(new Set(["one"]));
    expect(asked.length).toBeLessThanOrEqual(6);
    answerWith(GONE);
    await clock.advance(1000);
    await Promise.all(all);
    expect(left).toEqual(["one", "two", "three"]);
  });

  it("lets sends that may have arrived go first, then what a person waits for, then parts", async () => {
    const { clock, left, enter, answerWith } = lineUnderTest();
    const all = [
      enter("part", PART),
      enter("direct", DIRECT),
      enter("sent", RESENT),
      enter("later direct", DIRECT),
      enter("later sent", RESENT),
    ];
    await drainEventLoop();
    answerWith(GONE);
    await clock.advance(1000);
    await Promise.all(all);
    expect(left).toEqual(["sent", "later sent", "direct", "later direct", "part"]);
  });

  it("asks at once for a send that may have arrived, however long the first has to wait", async () => {
    const { asked, left, enter, answerWith } = lineUnderTest();
    answerWith(held("rate", 60_000));
    void enter("waits for its turn", DIRECT);
    await drainEventLoop();
    answerWith(GONE);
    await enter("sent", RESENT);
    expect(asked).toContain("sent");
    expect(left[0]).toBe("sent");
  });

  it("asks again when it is woken, and no sooner than the limits say", async () => {
    const { clock, line, asked, enter, answerWith } = lineUnderTest();
    answerWith(held("rate", 60_000));
    const first = enter("first", DIRECT);
    await clock.advance(30_000);
    expect(asked).toHaveLength(1);
    answerWith(GONE);
    line.wake();
    await first;
    expect(asked).toHaveLength(2);
  });

  it("notices a change that comes while the first is being asked for", async () => {
    const { line, asked } = lineUnderTest();
    const question = Promise.withResolvers<Admission>();
    const first = line.enter(DIRECT, new AbortController().signal, async () => {
      asked.push("first");
      return asked.length === 1 ? question.promise : GONE;
    });
    await drainEventLoop();
    line.wake();
    question.resolve(held("concurrency", 60_000));
    expect(await first).toEqual(GONE);
  });

  it("goes on without a submission that is cancelled, which is not asked for again", async () => {
    const { clock, asked, left, enter, answerWith } = lineUnderTest();
    const cancelled = new AbortController();
    const first = enter("cancelled", DIRECT, cancelled.signal);
    const second = enter("second", DIRECT);
    await drainEventLoop();
    cancelled.abort(new Error("nobody waits any more"));
    await expect(first).rejects.toThrow("nobody waits any more");
    answerWith(GONE);
    const askedBefore = asked.filter((name) => name === "cancelled").length;
    await clock.advance(1000);
    await second;
    expect(left).toEqual(["second"]);
    expect(asked.filter((name) => name === "cancelled")).toHaveLength(askedBefore);
  });

  it("is refused as a whole while the ledger is away, and works again afterwards", async () => {
    const { line } = lineUnderTest();
    const away = new AudioError("store_unavailable", "The ledger is away.");
    const signal = new AbortController().signal;
    const first = line.enter(DIRECT, signal, async () => {
      throw away;
    });
    const second = line.enter(PART, signal, async () => GONE);
    await expect(first).rejects.toBe(away);
    await expect(second).rejects.toBe(away);
    expect(line.isEmpty).toBe(true);
    expect(await line.enter(DIRECT, signal, async () => GONE)).toEqual(GONE);
  });

  it("says what holds the first, since when, and that both slots are full; and tells it once", async () => {
    const { clock, line, enter, answerWith, slotsFullCount, heldBy } = lineUnderTest();
    answerWith(held("concurrency", 1000));
    const first = enter("first", DIRECT);
    await clock.advance(3500);
    clock.moveWall(-86_400_000);
    expect(line.hold).toEqual({ reason: "concurrency", soFarMs: 3500, leftMs: 500 });
    expect(slotsFullCount()).toBe(4);
    answerWith(held("rate", 1000));
    await clock.advance(2500);
    expect(heldBy).toEqual(["concurrency", "rate"]);
    answerWith(GONE);
    await clock.advance(1000);
    await first;
    expect(line.hold).toBeNull();
  });
});

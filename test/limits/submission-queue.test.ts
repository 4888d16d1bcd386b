/** Creates that wait inside one process: their order, cancellation, wake-ups, the budget, a store that is lost. */
import { describe, expect, it } from "vitest";
import { failureOf } from "../api/failure.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { type AdmittedSubmission, startLimits, WINDOW_MS } from "./limits-under-test.ts";

describe("submissions", () => {
  it("are admitted first come, first served, six in any 60 s", async () => {
    const subject = startLimits();
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const all = Promise.all(names.map((name) => subject.createWhole(name)));
    await drainEventLoop();
    expect(subject.admitted).toEqual(["a", "b", "c", "d", "e", "f"]);
    expect(subject.waiting).toContain("g rate");
    expect(subject.waiting).toContain("h rate");
    await subject.clock.advance(WINDOW_MS - 100);
    expect(subject.admitted).toHaveLength(6);
    await subject.clock.advance(200);
    expect(subject.admitted).toEqual(names);
    await all;
  });

  it("are unresolved with their reservation from the moment of their admission", async () => {
    const subject = startLimits();
    const { record, sendId } = await subject.ask("a");
    expect(record).toMatchObject({ status: "unresolved", sendId, spend: { credits: 150 } });
    expect(await subject.ledger.get("a")).toEqual(record);
  });

  it("wait for a task of this process to end, and start at once when it does", async () => {
    const subject = startLimits();
    const first = await subject.accept(await subject.ask("a"));
    const second = await subject.accept(await subject.ask("b"));
    const third = subject.ask("c");
    const fourth = subject.ask("d");
    await drainEventLoop();
    expect(subject.waiting).toContain("c concurrency");
    // No time passes between the end and the start.
    await subject.end(second, 10);
    await third;
    expect(subject.admitted).toEqual(["a", "b", "c"]);
    await subject.end(first, 10);
    await fourth;
  });

  it("of narrations yield to the submissions of direct requests", async () => {
    const subject = startLimits();
    const state = JSON.stringify({ status: "running", maxCredits: 1000 });
    const narration = { narrationId: "nar_1", plan: "{}", state, createdAtMs: 1 };
    await subject.ledger.store.narrations.insert(narration);
    const running = await subject.accept(await subject.ask("a"));
    const other = await subject.accept(await subject.ask("b"));
    const isPart = { value: true };
    const parts = ["part 1", "part 2"].map(async (name) =>
      subject.order(await subject.claim(name), undefined, () =>
        name !== "part 2" || isPart.value ? "nar_1" : null,
      ),
    );
    await drainEventLoop();
    const single = subject.ask("single");
    await drainEventLoop();
    await subject.end(running, 10);
    const grant = await single;
    expect(subject.admitted).toEqual(["a", "b", "single"]);
    // A direct request for the part moves it to the front.
    isPart.value = false;
    await subject.accept(grant);
    await subject.end(other, 10);
    await drainEventLoop();
    expect(subject.admitted).toEqual(["a", "b", "single", "part 2"]);
    await subject.end(grant.record, 10).catch(() => undefined);
    await subject.limits.close();
    await Promise.allSettled(parts);
  });

  it("notice soon that a task of another process ended", async () => {
    const subject = startLimits();
    const other = subject.another();
    const running = await other.accept(await other.ask("x"));
    await other.accept(await other.ask("y"));
    const mine = subject.ask("a");
    await subject.clock.advance(5_000);
    expect(subject.admitted).toEqual([]);
    await other.end(running, 10);
    await subject.clock.advance(300);
    await mine;
  });

  it("report the reason for waiting to later callers, too", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("submissions", 40);
    void subject.ask("a").catch(() => {});
    await drainEventLoop();
    void subject.ask("b").catch(() => {});
    await drainEventLoop();
    expect(subject.waiting).toEqual(["a cooldown", "b cooldown"]);
  });

  it("leave the queue when they are cancelled, at its head and behind it", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("submissions", 40);
    const head = new AbortController();
    const middle = new AbortController();
    const asks = [subject.ask("a", head.signal), subject.ask("b", middle.signal), subject.ask("c")];
    const outcomes = Promise.allSettled(asks);
    await drainEventLoop();
    middle.abort(new Error("b gave up"));
    head.abort(new Error("a gave up"));
    await expect(asks[0]).rejects.toThrow("a gave up");
    await expect(asks[1]).rejects.toThrow("b gave up");
    await subject.clock.advance(40_001);
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(subject.admitted).toEqual(["c"]);
    const gone = AbortSignal.abort(new Error("never came"));
    await expect(subject.ask("d", gone)).rejects.toThrow("never came");
  });

  it("release an admission that came too late", async () => {
    const subject = startLimits();
    for (let round = 0; round < 8; round += 1) {
      const record = await subject.claim(`late ${round}`);
      const controller = new AbortController();
      const late = subject.order(record, controller.signal);
      controller.abort(new Error("gone"));
      await expect(late).rejects.toThrow("gone");
      await drainEventLoop();
      expect(await subject.ledger.get(record.recordId)).toMatchObject({ status: "waiting", spend: null });
    }
    await subject.ask("a");
    expect(subject.admitted).toEqual(["a"]);
    expect(await subject.spent()).toBe(150);
  });

  it("release an unused admission with its concurrency slot and its reservation", async () => {
    const subject = startLimits({ creditBudget: 150 });
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      await subject.limits.submissions.releaseUnused(await subject.ask(name));
      expect(await subject.ledger.get(name)).toMatchObject({ status: "waiting", sendId: null, spend: null });
    }
    expect(await subject.spent()).toBe(0);
  });

  it("repeat an unresolved send before others that wait for its concurrency slot", async () => {
    const subject = startLimits();
    const sent: AdmittedSubmission[] = [await subject.ask("a"), await subject.ask("b")];
    for (const grant of sent) await subject.leaveUnresolved(grant);
    const third = subject.ask("c");
    await drainEventLoop();
    expect(subject.waiting).toContain("c concurrency");
    const again = await subject.order(sent[0]?.record ?? (await subject.claim("none")));
    if (again.kind !== "admitted") throw new Error(again.kind);
    expect(subject.admitted).toEqual(["a", "b", "a"]);
    expect(again.record.hasUnresolvedEarlierSend).toBe(true);
    await subject.end(await subject.accept(again), 10);
    await third;
  });

  it("keep their concurrency slot while they have no response, and lose it after their process's death", async () => {
    const subject = startLimits();
    const other = subject.another();
    for (const name of ["x", "y"]) await other.ask(name);
    const mine = subject.ask("a");
    await subject.clock.advance(40_000);
    expect(subject.admitted).toEqual([]);
    // No heartbeats from here on.
    await other.limits.close();
    await subject.clock.advance(29_000 - 5_000);
    expect(subject.admitted).toEqual([]);
    await subject.clock.advance(7_000);
    await mine;
  });

  it("that ended without a response keep their concurrency slot for 30 s, and no longer", async () => {
    const subject = startLimits();
    const other = subject.another();
    for (const name of ["x", "y"]) await other.leaveUnresolved(await other.ask(name));
    const mine = subject.ask("a");
    await subject.clock.advance(29_000);
    expect(subject.admitted).toEqual([]);
    await subject.clock.advance(2_000);
    await mine;
  });

  it("are not sent if the record has changed; its new status is returned", async () => {
    const subject = startLimits();
    const stale = await subject.claim("a");
    const accepted = await subject.accept(await subject.ask("a"));
    expect(await subject.order(stale)).toEqual({ kind: "conflict", record: accepted, isLeaseLost: false });
    expect(subject.admitted).toEqual(["a"]);
  });
});

describe("the budget", () => {
  it("refuses at once, even behind others that wait", async () => {
    const subject = startLimits({ creditBudget: 300 });
    const first = await subject.accept(await subject.ask("a"));
    await subject.accept(await subject.ask("b"));
    const failure = await failureOf(subject.ask("c"));
    expect(failure.code).toBe("budget_exceeded");
    expect(failure.message).toContain("300");
    await subject.end(first, 12);
    const withLowBudget = subject.another({ creditBudget: 330 });
    await withLowBudget.limits.startCooldown("submissions", 40);
    void withLowBudget.ask("d").catch(() => {});
    await drainEventLoop();
    expect(withLowBudget.waiting).toEqual(["d cooldown"]);
    const fuller = await subject.another().claim("e", {
      status: "queued",
      taskId: "task of e",
      spend: { credits: 20, atMs: subject.clock.wallMs() },
    });
    expect(fuller.status).toBe("queued");
    expect((await failureOf(withLowBudget.ask("f"))).code).toBe("budget_exceeded");
    // The submission at the head of the queue is judged when its turn comes.
    expect(withLowBudget.admitted).toEqual([]);
  });

  it("and the concurrency slots are available for the next submission after a refusal", async () => {
    const subject = startLimits({ creditBudget: 150 });
    await subject.refuse(await subject.ask("a"));
    expect(await subject.ledger.get("a")).toMatchObject({ status: "waiting", spend: null });
    await subject.limits.submissions.releaseUnused(await subject.ask("b"));
    await subject.ask("c");
  });

  it("does not count the reservation of an unresolved submission twice when it is repeated", async () => {
    const subject = startLimits({ creditBudget: 150 });
    const grant = await subject.ask("a");
    await subject.leaveUnresolved(grant);
    expect(await subject.order(grant.record)).toMatchObject({ kind: "admitted" });
    expect(await subject.spent()).toBe(150);
  });
});

describe("while the store is unreachable", () => {
  it("submissions are refused, even those that wait", async () => {
    const subject = startLimits();
    const [first, second, third] = [
      await subject.claim("a"),
      await subject.claim("b"),
      await subject.claim("c"),
    ];
    await subject.limits.startCooldown("submissions", 40);
    const waits = failureOf(subject.order(first));
    await drainEventLoop();
    subject.trouble = "away";
    await subject.clock.advance(40_001);
    expect((await waits).code).toBe("store_unavailable");
    expect((await failureOf(subject.order(second))).code).toBe("store_unavailable");
    subject.trouble = "none";
    expect(await subject.order(third)).toMatchObject({ kind: "admitted" });
  });

  it("the ends of submissions are written later", async () => {
    const subject = startLimits();
    const first = await subject.ask("a");
    const second = await subject.ask("b");
    subject.trouble = "away";
    await subject.refuse(first);
    await subject.accept(second);
    await subject.clock.advance(20_000);
    subject.trouble = "none";
    await subject.clock.advance(5_001);
    expect(await subject.ledger.get("a")).toMatchObject({ status: "waiting", spend: null });
    expect(await subject.ledger.get("b")).toMatchObject({ status: "queued" });
    expect(await subject.spent()).toBe(150);
    await subject.ask("c");
  });

  it.each([0, 20_000])(
    "an admission whose answer was lost is released, %i ms after the store is reachable again",
    async (awayMs) => {
      const subject = startLimits({ creditBudget: 150 });
      const record = await subject.claim("a");
      subject.trouble = "answers_lost";
      const failure = failureOf(subject.order(record));
      // The transaction was committed. From here on, nothing arrives.
      if (awayMs > 0) subject.trouble = "away";
      expect((await failure).code).toBe("store_unavailable");
      await subject.clock.advance(awayMs);
      subject.trouble = "none";
      await subject.clock.advance(5_001);
      expect(await subject.ledger.get("a")).toMatchObject({ status: "waiting", sendId: null, spend: null });
      expect(await subject.spent()).toBe(0);
      await subject.ask("b");
    },
  );

  it("one write that never succeeds blocks neither the others nor the heartbeats", async () => {
    const subject = startLimits();
    const other = subject.another();
    for (const name of ["x", "y"]) await other.ask(name);
    await other.limits.pendingWrites.writeNowOrLater("poison", () => Promise.reject(new Error("never")));
    let reported = 0;
    await other.limits.pendingWrites.writeNowOrLater("what fails once", async () => {
      reported += 1;
      if (reported === 1) throw new Error("not yet");
    });
    const mine = subject.ask("a");
    await subject.clock.advance(50_000);
    expect(reported).toBe(2);
    expect(subject.admitted).toEqual([]);
    await other.limits.close();
    await subject.clock.advance(40_000);
    await mine;
  });
});

describe("leases", () => {
  it("are kept until they are dropped", async () => {
    const subject = startLimits();
    const record = await subject.claim("a");
    let isLost = false;
    subject.limits.heartbeats.startRenewingLease("a", () => {
      isLost = true;
    });
    const other = subject.another();
    await subject.clock.advance(10 * subject.ledger.leaseTtlMs);
    expect((await other.ledger.acquireLease(record)).isOurs).toBe(false);
    subject.limits.heartbeats.stopRenewingLease("a");
    await subject.clock.advance(subject.ledger.leaseTtlMs);
    expect((await other.ledger.acquireLease(record)).isOurs).toBe(true);
    expect(isLost).toBe(false);
  });

  it("that another process has acquired are reported once", async () => {
    const subject = startLimits();
    const record = await subject.claim("a");
    let losses = 0;
    subject.limits.heartbeats.startRenewingLease("a", () => {
      losses += 1;
    });
    // Suspended for longer than a lease lasts.
    subject.clock.skip(subject.ledger.leaseTtlMs + 1);
    const other = subject.another();
    expect((await other.ledger.acquireLease(record)).isOurs).toBe(true);
    await subject.clock.advance(30_000);
    expect(losses).toBe(1);
  });
});

it("waiting submissions are rejected when the limits close", async () => {
  const subject = startLimits();
  await subject.limits.startCooldown("submissions", 40);
  const waits = failureOf(subject.ask("a"));
  await drainEventLoop();
  await subject.limits.close();
  expect((await waits).code).toBe("store_unavailable");
});

it("a time scale shortens windows and pauses alike", async () => {
  const subject = startLimits({ timeScale: 0.01 });
  for (const name of ["a", "b", "c", "d", "e", "f"]) await subject.createWhole(name);
  const seventh = subject.ask("g");
  await subject.clock.advance(599);
  expect(subject.admitted).toHaveLength(6);
  await subject.clock.advance(10);
  await subject.accept(await seventh);
  await subject.limits.startCooldown("submissions", 60);
  const eighth = subject.ask("h");
  await subject.clock.advance(599);
  expect(subject.admitted).toHaveLength(7);
  await subject.clock.advance(10);
  await eighth;
});

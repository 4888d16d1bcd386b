/**
 * Submissions that wait inside one process: their order, their cancellation, what wakes them, the budget, and an
 * unreachable store.
 */
import { describe, expect, it } from "vitest";
import { failureOf } from "../api/failure.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { type AdmittedSubmission, LIMIT_WINDOW_MS, startLimits } from "./limits-under-test.ts";

describe("submissions", () => {
  it("are admitted first come, first served, six in any 60 s", async () => {
    const subject = startLimits();
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const runs = Promise.all(names.map((name) => subject.runToEnd(name)));
    await drainEventLoop();
    expect(subject.admittedNames).toEqual(["a", "b", "c", "d", "e", "f"]);
    expect(subject.waitReports).toContain("g rate");
    expect(subject.waitReports).toContain("h rate");
    await subject.clock.advance(LIMIT_WINDOW_MS - 100);
    expect(subject.admittedNames).toHaveLength(6);
    await subject.clock.advance(200);
    expect(subject.admittedNames).toEqual(names);
    await runs;
  });

  it("are unresolved with their reservation from the moment of their admission", async () => {
    const subject = startLimits();
    const { record, sendId } = await subject.admit("a");
    expect(record).toMatchObject({ status: "unresolved", sendId, spend: { credits: 150 } });
    expect(await subject.ledger.get("a")).toEqual(record);
  });

  it("wait while two tasks of this process run, and are admitted as soon as one ends", async () => {
    const subject = startLimits();
    const first = await subject.accept(await subject.admit("a"));
    const second = await subject.accept(await subject.admit("b"));
    const thirdAdmission = subject.admit("c");
    const fourthAdmission = subject.admit("d");
    await drainEventLoop();
    expect(subject.waitReports).toContain("c concurrency");
    // The clock does not advance between the end of a task and the admission of `c`.
    await subject.end(second, 10);
    await thirdAdmission;
    expect(subject.admittedNames).toEqual(["a", "b", "c"]);
    await subject.end(first, 10);
    await fourthAdmission;
  });

  it("of narrations yield to the submissions of direct requests", async () => {
    const subject = startLimits();
    const state = JSON.stringify({ status: "running", maxCredits: 1000 });
    const narration = { narrationId: "nar_1", plan: "{}", state, createdAtMs: 1 };
    await subject.ledger.store.narrations.insert(narration);
    const running = await subject.accept(await subject.admit("a"));
    const other = await subject.accept(await subject.admit("b"));
    let isPartOfNarration = true;
    const partAdmissions = ["part 1", "part 2"].map(async (name) =>
      subject.requestAdmission(await subject.createRecord(name), undefined, () =>
        name !== "part 2" || isPartOfNarration ? "nar_1" : null,
      ),
    );
    await drainEventLoop();
    const directAdmission = subject.admit("direct");
    await drainEventLoop();
    await subject.end(running, 10);
    const admission = await directAdmission;
    expect(subject.admittedNames).toEqual(["a", "b", "direct"]);
    // A direct request for `part 2` moves this part to the front of the queue.
    isPartOfNarration = false;
    await subject.accept(admission);
    await subject.end(other, 10);
    await drainEventLoop();
    expect(subject.admittedNames).toEqual(["a", "b", "direct", "part 2"]);
    await subject.end(admission.record, 10).catch(() => undefined);
    await subject.limits.close();
    await Promise.allSettled(partAdmissions);
  });

  it("are admitted soon after a task of another process ends", async () => {
    const subject = startLimits();
    const other = subject.startAnother();
    const running = await other.accept(await other.admit("x"));
    await other.accept(await other.admit("y"));
    const ownAdmission = subject.admit("a");
    await subject.clock.advance(5_000);
    expect(subject.admittedNames).toEqual([]);
    await other.end(running, 10);
    await subject.clock.advance(300);
    await ownAdmission;
  });

  it("report the reason for waiting to each caller, including later ones", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("submissions", 40);
    void subject.admit("a").catch(() => {});
    await drainEventLoop();
    void subject.admit("b").catch(() => {});
    await drainEventLoop();
    expect(subject.waitReports).toEqual(["a cooldown", "b cooldown"]);
  });

  it("leave the queue when they are cancelled, at its head and behind it", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("submissions", 40);
    const headController = new AbortController();
    const middleController = new AbortController();
    const admissions = [
      subject.admit("a", headController.signal),
      subject.admit("b", middleController.signal),
      subject.admit("c"),
    ];
    const outcomes = Promise.allSettled(admissions);
    await drainEventLoop();
    middleController.abort(new Error("b gave up"));
    headController.abort(new Error("a gave up"));
    await expect(admissions[0]).rejects.toThrow("a gave up");
    await expect(admissions[1]).rejects.toThrow("b gave up");
    await subject.clock.advance(40_001);
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(subject.admittedNames).toEqual(["c"]);
    const alreadyAborted = AbortSignal.abort(new Error("d gave up"));
    await expect(subject.admit("d", alreadyAborted)).rejects.toThrow("d gave up");
  });

  it("release an admission that is granted after their cancellation", async () => {
    const subject = startLimits();
    for (let round = 0; round < 8; round += 1) {
      const record = await subject.createRecord(`late ${round}`);
      const controller = new AbortController();
      const lateAdmission = subject.requestAdmission(record, controller.signal);
      controller.abort(new Error("cancelled"));
      await expect(lateAdmission).rejects.toThrow("cancelled");
      await drainEventLoop();
      expect(await subject.ledger.get(record.recordId)).toMatchObject({ status: "waiting", spend: null });
    }
    await subject.admit("a");
    expect(subject.admittedNames).toEqual(["a"]);
    expect(await subject.sumSpentCredits()).toBe(150);
  });

  it("release an unused admission with its slots and its reservation", async () => {
    const subject = startLimits({ creditBudget: 150 });
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      await subject.limits.submissions.releaseUnused(await subject.admit(name));
      expect(await subject.ledger.get(name)).toMatchObject({ status: "waiting", sendId: null, spend: null });
    }
    expect(await subject.sumSpentCredits()).toBe(0);
  });

  it("repeat an unresolved send before others that wait for its concurrency slot", async () => {
    const subject = startLimits();
    const unresolved: AdmittedSubmission[] = [await subject.admit("a"), await subject.admit("b")];
    for (const admission of unresolved) await subject.leaveUnresolved(admission);
    const waitingAdmission = subject.admit("c");
    await drainEventLoop();
    expect(subject.waitReports).toContain("c concurrency");
    const secondSend = await subject.requestAdmission(
      unresolved[0]?.record ?? (await subject.createRecord("none")),
    );
    if (secondSend.kind !== "admitted") throw new Error(secondSend.kind);
    expect(subject.admittedNames).toEqual(["a", "b", "a"]);
    expect(secondSend.record.hasUnresolvedEarlierSend).toBe(true);
    await subject.end(await subject.accept(secondSend), 10);
    await waitingAdmission;
  });

  it("keep their concurrency slot while their process waits for a response, and lose it some time after its death", async () => {
    const subject = startLimits();
    const other = subject.startAnother();
    for (const name of ["x", "y"]) await other.admit(name);
    const ownAdmission = subject.admit("a");
    await subject.clock.advance(40_000);
    expect(subject.admittedNames).toEqual([]);
    // Closing the limits ends the heartbeats.
    await other.limits.close();
    await subject.clock.advance(29_000 - 5_000);
    expect(subject.admittedNames).toEqual([]);
    await subject.clock.advance(7_000);
    await ownAdmission;
  });

  it("without a response keep their concurrency slot for 30 s after they end, and no longer", async () => {
    const subject = startLimits();
    const other = subject.startAnother();
    for (const name of ["x", "y"]) await other.leaveUnresolved(await other.admit(name));
    const ownAdmission = subject.admit("a");
    await subject.clock.advance(29_000);
    expect(subject.admittedNames).toEqual([]);
    await subject.clock.advance(2_000);
    await ownAdmission;
  });

  it("are not admitted if their record has changed; the changed record is returned", async () => {
    const subject = startLimits();
    const staleRecord = await subject.createRecord("a");
    const accepted = await subject.accept(await subject.admit("a"));
    expect(await subject.requestAdmission(staleRecord)).toEqual({
      kind: "conflict",
      record: accepted,
      isLeaseLost: false,
    });
    expect(subject.admittedNames).toEqual(["a"]);
  });
});

describe("the budget", () => {
  it("refuses a submission at once, even if others wait", async () => {
    const subject = startLimits({ creditBudget: 300 });
    const first = await subject.accept(await subject.admit("a"));
    await subject.accept(await subject.admit("b"));
    const failure = await failureOf(subject.admit("c"));
    expect(failure.code).toBe("budget_exceeded");
    expect(failure.message).toContain("300");
    await subject.end(first, 12);
    const withLowBudget = subject.startAnother({ creditBudget: 330 });
    await withLowBudget.limits.startCooldown("submissions", 40);
    void withLowBudget.admit("d").catch(() => {});
    await drainEventLoop();
    expect(withLowBudget.waitReports).toEqual(["d cooldown"]);
    const runningRecord = await subject.startAnother().createRecord("e", {
      status: "queued",
      taskId: "task of e",
      spend: { credits: 20, atMs: subject.clock.wallMs() },
    });
    expect(runningRecord.status).toBe("queued");
    expect((await failureOf(withLowBudget.admit("f"))).code).toBe("budget_exceeded");
    // `d`, at the head of the queue, is neither admitted nor refused before the cooldown ends.
    expect(withLowBudget.admittedNames).toEqual([]);
  });

  it("has room for the next submission after a refusal or an unused admission", async () => {
    const subject = startLimits({ creditBudget: 150 });
    await subject.refuse(await subject.admit("a"));
    expect(await subject.ledger.get("a")).toMatchObject({ status: "waiting", spend: null });
    await subject.limits.submissions.releaseUnused(await subject.admit("b"));
    await subject.admit("c");
  });

  it("counts the reservation of an unresolved submission once, even if it is sent again", async () => {
    const subject = startLimits({ creditBudget: 150 });
    const admission = await subject.admit("a");
    await subject.leaveUnresolved(admission);
    expect(await subject.requestAdmission(admission.record)).toMatchObject({ kind: "admitted" });
    expect(await subject.sumSpentCredits()).toBe(150);
  });
});

describe("while the store is unreachable", () => {
  it("submissions are refused, including those that already wait", async () => {
    const subject = startLimits();
    const [first, second, third] = [
      await subject.createRecord("a"),
      await subject.createRecord("b"),
      await subject.createRecord("c"),
    ];
    await subject.limits.startCooldown("submissions", 40);
    const failureOfWaiting = failureOf(subject.requestAdmission(first));
    await drainEventLoop();
    subject.storeFault = "unreachable";
    await subject.clock.advance(40_001);
    expect((await failureOfWaiting).code).toBe("store_unavailable");
    expect((await failureOf(subject.requestAdmission(second))).code).toBe("store_unavailable");
    subject.storeFault = "none";
    expect(await subject.requestAdmission(third)).toMatchObject({ kind: "admitted" });
  });

  it("the ends of submissions are kept, and written once the store is reachable again", async () => {
    const subject = startLimits();
    const first = await subject.admit("a");
    const second = await subject.admit("b");
    subject.storeFault = "unreachable";
    await subject.refuse(first);
    await subject.accept(second);
    await subject.clock.advance(20_000);
    subject.storeFault = "none";
    await subject.clock.advance(5_001);
    expect(await subject.ledger.get("a")).toMatchObject({ status: "waiting", spend: null });
    expect(await subject.ledger.get("b")).toMatchObject({ status: "queued" });
    expect(await subject.sumSpentCredits()).toBe(150);
    await subject.admit("c");
  });

  it.each([0, 20_000])(
    "an admission whose result was lost is released once the store is reachable again, after %i ms",
    async (outageMs) => {
      const subject = startLimits({ creditBudget: 150 });
      const record = await subject.createRecord("a");
      subject.storeFault = "results_lost";
      const failure = failureOf(subject.requestAdmission(record));
      // The transaction was committed, but its result was lost. Later operations do not reach the store.
      if (outageMs > 0) subject.storeFault = "unreachable";
      expect((await failure).code).toBe("store_unavailable");
      await subject.clock.advance(outageMs);
      subject.storeFault = "none";
      await subject.clock.advance(5_001);
      expect(await subject.ledger.get("a")).toMatchObject({ status: "waiting", sendId: null, spend: null });
      expect(await subject.sumSpentCredits()).toBe(0);
      await subject.admit("b");
    },
  );

  it("one write that never succeeds blocks neither the others nor the heartbeats", async () => {
    const subject = startLimits();
    const other = subject.startAnother();
    for (const name of ["x", "y"]) await other.admit(name);
    await other.limits.pendingWrites.writeNowOrLater("fails always", () =>
      Promise.reject(new Error("never")),
    );
    let writeAttempts = 0;
    await other.limits.pendingWrites.writeNowOrLater("fails once", async () => {
      writeAttempts += 1;
      if (writeAttempts === 1) throw new Error("not yet");
    });
    const ownAdmission = subject.admit("a");
    await subject.clock.advance(50_000);
    expect(writeAttempts).toBe(2);
    expect(subject.admittedNames).toEqual([]);
    await other.limits.close();
    await subject.clock.advance(40_000);
    await ownAdmission;
  });
});

describe("leases", () => {
  it("are kept as long as their owner renews them", async () => {
    const subject = startLimits();
    const record = await subject.createRecord("a");
    let isLost = false;
    subject.limits.heartbeats.startRenewingLease("a", () => {
      isLost = true;
    });
    const other = subject.startAnother();
    await subject.clock.advance(10 * subject.ledger.leaseTtlMs);
    expect((await other.ledger.acquireLease(record)).isOurs).toBe(false);
    subject.limits.heartbeats.stopRenewingLease("a");
    await subject.clock.advance(subject.ledger.leaseTtlMs);
    expect((await other.ledger.acquireLease(record)).isOurs).toBe(true);
    expect(isLost).toBe(false);
  });

  it("that another process acquires are reported as lost once", async () => {
    const subject = startLimits();
    const record = await subject.createRecord("a");
    let lossReports = 0;
    subject.limits.heartbeats.startRenewingLease("a", () => {
      lossReports += 1;
    });
    // Simulate a process that is suspended for longer than a lease lasts.
    subject.clock.skip(subject.ledger.leaseTtlMs + 1);
    const other = subject.startAnother();
    expect((await other.ledger.acquireLease(record)).isOurs).toBe(true);
    await subject.clock.advance(30_000);
    expect(lossReports).toBe(1);
  });
});

it("waiting submissions are rejected when the limits close", async () => {
  const subject = startLimits();
  await subject.limits.startCooldown("submissions", 40);
  const failureOfWaiting = failureOf(subject.admit("a"));
  await drainEventLoop();
  await subject.limits.close();
  expect((await failureOfWaiting).code).toBe("store_unavailable");
});

it("a time scale shortens rate windows and cooldowns alike", async () => {
  const subject = startLimits({ timeScale: 0.01 });
  for (const name of ["a", "b", "c", "d", "e", "f"]) await subject.runToEnd(name);
  const seventhAdmission = subject.admit("g");
  await subject.clock.advance(599);
  expect(subject.admittedNames).toHaveLength(6);
  await subject.clock.advance(10);
  await subject.accept(await seventhAdmission);
  await subject.limits.startCooldown("submissions", 60);
  const eighthAdmission = subject.admit("h");
  await subject.clock.advance(599);
  expect(subject.admittedNames).toHaveLength(7);
  await subject.clock.advance(10);
  await eighthAdmission;
});

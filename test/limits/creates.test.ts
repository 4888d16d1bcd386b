/** Creates that wait inside one process: their order, cancellation, wake-ups, the budget, a store that is lost. */
import { describe, expect, it } from "vitest";
import { failureOf } from "../api/failure.ts";
import { quiet } from "../support/hand-clock.ts";
import { type AdmittedCreate, newRoom, WINDOW_MS } from "./room.ts";

describe("creates", () => {
  it("are admitted first come, first served, six in any 60 s", async () => {
    const room = newRoom();
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const all = Promise.all(names.map((name) => room.createWhole(name)));
    await quiet();
    expect(room.admitted).toEqual(["a", "b", "c", "d", "e", "f"]);
    expect(room.waiting).toContain("g rate");
    expect(room.waiting).toContain("h rate");
    await room.clock.advance(WINDOW_MS - 100);
    expect(room.admitted).toHaveLength(6);
    await room.clock.advance(200);
    expect(room.admitted).toEqual(names);
    await all;
  });

  it("are unresolved with their reservation from the moment of their admission", async () => {
    const room = newRoom();
    const { record, sendId } = await room.ask("a");
    expect(record).toMatchObject({ status: "unresolved", send: sendId, spend: { credits: 150 } });
    expect(await room.ledger.get("a")).toEqual(record);
  });

  it("wait for a task of this process to end, and start at once when it does", async () => {
    const room = newRoom();
    const first = await room.accept(await room.ask("a"));
    const second = await room.accept(await room.ask("b"));
    const third = room.ask("c");
    const fourth = room.ask("d");
    await quiet();
    expect(room.waiting).toContain("c in_flight");
    // No time passes between the end and the start.
    await room.end(second, 10);
    await third;
    expect(room.admitted).toEqual(["a", "b", "c"]);
    await room.end(first, 10);
    await fourth;
  });

  it("of narrations yield to the creates of direct requests", async () => {
    const room = newRoom();
    const state = JSON.stringify({ status: "running", maxCredits: 1000 });
    const narration = { narrationId: "nar_1", plan: "{}", state, createdAtMs: 1 };
    await room.ledger.store.narrations.begin(narration);
    const running = await room.accept(await room.ask("a"));
    const other = await room.accept(await room.ask("b"));
    const isPart = { value: true };
    const parts = ["part 1", "part 2"].map(async (name) =>
      room.order(await room.claim(name), undefined, () =>
        name !== "part 2" || isPart.value ? "nar_1" : null,
      ),
    );
    await quiet();
    const single = room.ask("single");
    await quiet();
    await room.end(running, 10);
    const grant = await single;
    expect(room.admitted).toEqual(["a", "b", "single"]);
    // Somebody requests the part directly, so it goes first now.
    isPart.value = false;
    await room.accept(grant);
    await room.end(other, 10);
    await quiet();
    expect(room.admitted).toEqual(["a", "b", "single", "part 2"]);
    await room.end(grant.record, 10).catch(() => undefined);
    await room.limits.close();
    await Promise.allSettled(parts);
  });

  it("notice soon that a task of another process ended", async () => {
    const room = newRoom();
    const other = room.another();
    const running = await other.accept(await other.ask("x"));
    await other.accept(await other.ask("y"));
    const mine = room.ask("a");
    await room.clock.advance(5_000);
    expect(room.admitted).toEqual([]);
    await other.end(running, 10);
    await room.clock.advance(300);
    await mine;
  });

  it("report the reason for waiting to later callers, too", async () => {
    const room = newRoom();
    await room.limits.pause("creates", 40);
    void room.ask("a").catch(() => {});
    await quiet();
    void room.ask("b").catch(() => {});
    await quiet();
    expect(room.waiting).toEqual(["a paused", "b paused"]);
  });

  it("leave the queue when they are cancelled, at its head and behind it", async () => {
    const room = newRoom();
    await room.limits.pause("creates", 40);
    const head = new AbortController();
    const middle = new AbortController();
    const asks = [room.ask("a", head.signal), room.ask("b", middle.signal), room.ask("c")];
    const outcomes = Promise.allSettled(asks);
    await quiet();
    middle.abort(new Error("b gave up"));
    head.abort(new Error("a gave up"));
    await expect(asks[0]).rejects.toThrow("a gave up");
    await expect(asks[1]).rejects.toThrow("b gave up");
    await room.clock.advance(40_001);
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(room.admitted).toEqual(["c"]);
    const gone = AbortSignal.abort(new Error("never came"));
    await expect(room.ask("d", gone)).rejects.toThrow("never came");
  });

  it("release an admission that came too late", async () => {
    const room = newRoom();
    for (let round = 0; round < 8; round += 1) {
      const record = await room.claim(`late ${round}`);
      const controller = new AbortController();
      const late = room.order(record, controller.signal);
      controller.abort(new Error("gone"));
      await expect(late).rejects.toThrow("gone");
      await quiet();
      expect(await room.ledger.get(record.recordId)).toMatchObject({ status: "waiting", spend: null });
    }
    await room.ask("a");
    expect(room.admitted).toEqual(["a"]);
    expect(await room.spent()).toBe(150);
  });

  it("release an unused admission with its place and its reservation", async () => {
    const room = newRoom({ creditBudget: 150 });
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      await room.limits.releaseUnused(await room.ask(name));
      expect(await room.ledger.get(name)).toMatchObject({ status: "waiting", send: null, spend: null });
    }
    expect(await room.spent()).toBe(0);
  });

  it("repeat an unanswered send before others that wait for its place", async () => {
    const room = newRoom();
    const sent: AdmittedCreate[] = [await room.ask("a"), await room.ask("b")];
    for (const grant of sent) await room.leaveUnanswered(grant);
    const third = room.ask("c");
    await quiet();
    expect(room.waiting).toContain("c in_flight");
    const again = await room.order(sent[0]?.record ?? (await room.claim("none")));
    if (again.kind !== "admitted") throw new Error(again.kind);
    expect(room.admitted).toEqual(["a", "b", "a"]);
    expect(again.record.mayHaveArrived).toBe(true);
    await room.end(await room.accept(again), 10);
    await third;
  });

  it("keep their place while they have no response, and lose it after their process's death", async () => {
    const room = newRoom();
    const other = room.another();
    for (const name of ["x", "y"]) await other.ask(name);
    const mine = room.ask("a");
    await room.clock.advance(40_000);
    expect(room.admitted).toEqual([]);
    // No heartbeats from here on.
    await other.limits.close();
    await room.clock.advance(29_000 - 5_000);
    expect(room.admitted).toEqual([]);
    await room.clock.advance(7_000);
    await mine;
  });

  it("that ended without a response keep their place for 30 s, and no longer", async () => {
    const room = newRoom();
    const other = room.another();
    for (const name of ["x", "y"]) await other.leaveUnanswered(await other.ask(name));
    const mine = room.ask("a");
    await room.clock.advance(29_000);
    expect(room.admitted).toEqual([]);
    await room.clock.advance(2_000);
    await mine;
  });

  it("are not sent if the record has changed; its new status is returned", async () => {
    const room = newRoom();
    const stale = await room.claim("a");
    const accepted = await room.accept(await room.ask("a"));
    expect(await room.order(stale)).toEqual({ kind: "changed", record: accepted, isLeaseLost: false });
    expect(room.admitted).toEqual(["a"]);
  });
});

describe("the budget", () => {
  it("refuses at once, even behind others that wait", async () => {
    const room = newRoom({ creditBudget: 300 });
    const first = await room.accept(await room.ask("a"));
    await room.accept(await room.ask("b"));
    const failure = await failureOf(room.ask("c"));
    expect(failure.code).toBe("budget_exceeded");
    expect(failure.message).toContain("300");
    await room.end(first, 12);
    const poorer = room.another({ creditBudget: 330 });
    await poorer.limits.pause("creates", 40);
    void poorer.ask("d").catch(() => {});
    await quiet();
    expect(poorer.waiting).toEqual(["d paused"]);
    const fuller = await room.another().claim("e", {
      status: "queued",
      taskId: "task of e",
      spend: { credits: 20, atMs: room.clock.wallMs() },
    });
    expect(fuller.status).toBe("queued");
    expect((await failureOf(poorer.ask("f"))).code).toBe("budget_exceeded");
    // The create at the head of the queue is judged when its turn comes.
    expect(poorer.admitted).toEqual([]);
  });

  it("and the places are available for the next create after a refusal", async () => {
    const room = newRoom({ creditBudget: 150 });
    await room.refuse(await room.ask("a"));
    expect(await room.ledger.get("a")).toMatchObject({ status: "waiting", spend: null });
    await room.limits.releaseUnused(await room.ask("b"));
    await room.ask("c");
  });

  it("does not count the reservation of an unanswered create twice when it is repeated", async () => {
    const room = newRoom({ creditBudget: 150 });
    const grant = await room.ask("a");
    await room.leaveUnanswered(grant);
    expect(await room.order(grant.record)).toMatchObject({ kind: "admitted" });
    expect(await room.spent()).toBe(150);
  });
});

describe("while the store is unreachable", () => {
  it("creates are refused, even those that wait", async () => {
    const room = newRoom();
    const [first, second, third] = [await room.claim("a"), await room.claim("b"), await room.claim("c")];
    await room.limits.pause("creates", 40);
    const waits = failureOf(room.order(first));
    await quiet();
    room.trouble = "away";
    await room.clock.advance(40_001);
    expect((await waits).code).toBe("store_unavailable");
    expect((await failureOf(room.order(second))).code).toBe("store_unavailable");
    room.trouble = "none";
    expect(await room.order(third)).toMatchObject({ kind: "admitted" });
  });

  it("the ends of creates are written later", async () => {
    const room = newRoom();
    const first = await room.ask("a");
    const second = await room.ask("b");
    room.trouble = "away";
    await room.refuse(first);
    await room.accept(second);
    await room.clock.advance(20_000);
    room.trouble = "none";
    await room.clock.advance(5_001);
    expect(await room.ledger.get("a")).toMatchObject({ status: "waiting", spend: null });
    expect(await room.ledger.get("b")).toMatchObject({ status: "queued" });
    expect(await room.spent()).toBe(150);
    await room.ask("c");
  });

  it.each([0, 20_000])(
    "an admission whose answer was lost is released, %i ms after the store is reachable again",
    async (awayMs) => {
      const room = newRoom({ creditBudget: 150 });
      const record = await room.claim("a");
      room.trouble = "answers_lost";
      const failure = failureOf(room.order(record));
      // The transaction was committed. From here on, nothing arrives.
      if (awayMs > 0) room.trouble = "away";
      expect((await failure).code).toBe("store_unavailable");
      await room.clock.advance(awayMs);
      room.trouble = "none";
      await room.clock.advance(5_001);
      expect(await room.ledger.get("a")).toMatchObject({ status: "waiting", send: null, spend: null });
      expect(await room.spent()).toBe(0);
      await room.ask("b");
    },
  );

  it("one write that never succeeds blocks neither the others nor the heartbeats", async () => {
    const room = newRoom();
    const other = room.another();
    for (const name of ["x", "y"]) await other.ask(name);
    await other.limits.writeUntilStored("poison", () => Promise.reject(new Error("never")));
    let reported = 0;
    await other.limits.writeUntilStored("what fails once", async () => {
      reported += 1;
      if (reported === 1) throw new Error("not yet");
    });
    const mine = room.ask("a");
    await room.clock.advance(50_000);
    expect(reported).toBe(2);
    expect(room.admitted).toEqual([]);
    await other.limits.close();
    await room.clock.advance(40_000);
    await mine;
  });
});

describe("leases", () => {
  it("are kept until they are dropped", async () => {
    const room = newRoom();
    const record = await room.claim("a");
    let isLost = false;
    room.limits.keepLease("a", () => {
      isLost = true;
    });
    const other = room.another();
    await room.clock.advance(10 * room.ledger.leaseTtlMs);
    expect((await other.ledger.claim(record)).isOurs).toBe(false);
    room.limits.dropLease("a");
    await room.clock.advance(room.ledger.leaseTtlMs);
    expect((await other.ledger.claim(record)).isOurs).toBe(true);
    expect(isLost).toBe(false);
  });

  it("that another process has acquired are reported once", async () => {
    const room = newRoom();
    const record = await room.claim("a");
    let losses = 0;
    room.limits.keepLease("a", () => {
      losses += 1;
    });
    // Suspended for longer than a lease lasts.
    room.clock.skip(room.ledger.leaseTtlMs + 1);
    const other = room.another();
    expect((await other.ledger.claim(record)).isOurs).toBe(true);
    await room.clock.advance(30_000);
    expect(losses).toBe(1);
  });
});

it("waiting creates are rejected when the limits close", async () => {
  const room = newRoom();
  await room.limits.pause("creates", 40);
  const waits = failureOf(room.ask("a"));
  await quiet();
  await room.limits.close();
  expect((await waits).code).toBe("store_unavailable");
});

it("a time scale shortens windows and pauses alike", async () => {
  const room = newRoom({ timeScale: 0.01 });
  for (const name of ["a", "b", "c", "d", "e", "f"]) await room.createWhole(name);
  const seventh = room.ask("g");
  await room.clock.advance(599);
  expect(room.admitted).toHaveLength(6);
  await room.clock.advance(10);
  await room.accept(await seventh);
  await room.limits.pause("creates", 60);
  const eighth = room.ask("h");
  await room.clock.advance(599);
  expect(room.admitted).toHaveLength(7);
  await room.clock.advance(10);
  await eighth;
});

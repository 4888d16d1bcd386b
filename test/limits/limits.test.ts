/** Owns the tests of what waits inside one process: order, leaving, waking, the budget, a store that is lost. */
import { describe, expect, it, onTestFinished } from "vitest";
import { AudioError } from "../../src/errors.ts";
import type { Coordinator } from "../../src/ledger/coordinator.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/sqlite-store.ts";
import { type CreateSlot, createLimits, type Limits, type LimitsOptions } from "../../src/limits/limits.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";
import { HandClock, quiet } from "../support/hand-clock.ts";
import { scratchFolder } from "../support/scratch.ts";

const never = new AbortController().signal;
const WINDOW_MS = 60_020;
const lost = new AudioError("store_unavailable", "gone");

/** A coordinator whose loss a test can cause and mend. */
function breakable(inner: Coordinator): { coordinator: Coordinator; breakIt(isBroken: boolean): void } {
  let isBroken = false;
  const coordinator = new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown =>
        isBroken ? Promise.reject(lost) : Reflect.apply(member, target, args);
    },
  });
  return {
    coordinator,
    breakIt(broken) {
      isBroken = broken;
    },
  };
}

interface Room {
  readonly clock: HandClock;
  readonly coordinator: Coordinator;
  readonly limits: Limits;
  breakIt(isBroken: boolean): void;
  /** The limits of another process on the same store. */
  another(changes?: Partial<LimitsOptions>): Limits;
  /** Asks, and notes the name when it is admitted. */
  ask(name: string, signal?: AbortSignal): Promise<CreateSlot>;
  readonly admitted: string[];
  readonly waiting: string[];
}

function newRoom(changes: Partial<LimitsOptions> = {}): Room {
  const clock = new HandClock();
  const log = createLog("silent", (text) => text);
  const store = openSqliteStore({ stateDir: scratchFolder(), log, clock });
  const { coordinator, breakIt } = breakable(store.coordinator);
  let processes = 0;
  const another = (more: Partial<LimitsOptions> = {}): Limits => {
    processes += 1;
    return createLimits({
      coordinator,
      clock,
      log,
      accountId: "account",
      origin: "https://service.example",
      holder: `process ${processes}`,
      timeScale: 1,
      creditBudget: null,
      ...changes,
      ...more,
    });
  };
  const limits = another();
  onTestFinished(async () => {
    await limits.close();
    await store.close();
  });
  const admitted: string[] = [];
  const waiting: string[] = [];
  return {
    clock,
    coordinator,
    limits,
    breakIt,
    another,
    admitted,
    waiting,
    async ask(name, signal = never) {
      const slot = await limits.admitCreate({
        recordId: name,
        attempt: 1,
        signal,
        onWaiting: (reason) => waiting.push(`${name} ${reason}`),
      });
      admitted.push(name);
      return slot;
    },
  };
}

/** A create and its task, from admission to its end, in no time. */
async function createWhole(room: Room, name: string): Promise<void> {
  const slot = await room.ask(name);
  await slot.settle("accepted");
  await room.limits.endTask(name, 1, 12);
}

describe("creates", () => {
  it("are admitted first come, first served, six in any 60 s", async () => {
    const room = newRoom();
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const all = Promise.all(names.map((name) => createWhole(room, name)));
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

  it("wait for a task of this process to end, and start at once when it does", async () => {
    const room = newRoom();
    const first = await room.ask("a");
    const second = await room.ask("b");
    await first.settle("accepted");
    await second.settle("accepted");
    const third = room.ask("c");
    const fourth = room.ask("d");
    await quiet();
    expect(room.waiting).toContain("c in_flight");
    // No time passes between the end and the start.
    await room.limits.endTask("b", 1, 10);
    await third;
    expect(room.admitted).toEqual(["a", "b", "c"]);
    await room.limits.endTask("a", 1, 10);
    await fourth;
  });

  it("see that a task of another process ended, soon", async () => {
    const room = newRoom();
    const other = room.another();
    for (const name of ["x", "y"]) {
      const slot = await other.admitCreate({
        recordId: name,
        attempt: 1,
        signal: never,
        onWaiting: () => {},
      });
      await slot.settle("accepted");
    }
    const mine = room.ask("a");
    await room.clock.advance(5_000);
    expect(room.admitted).toEqual([]);
    await other.endTask("x", 1, 10);
    await room.clock.advance(300);
    await mine;
    await other.close();
  });

  it("tell the reason for waiting also to those who come later", async () => {
    const room = newRoom();
    await room.limits.pause("creates", 40);
    void room.ask("a").catch(() => {});
    await quiet();
    void room.ask("b").catch(() => {});
    await quiet();
    expect(room.waiting).toEqual(["a paused", "b paused"]);
  });

  it("leave the queue clean when they are given up, at its head and behind", async () => {
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

  it("give back a slot that was won too late", async () => {
    const room = newRoom();
    for (let round = 0; round < 8; round += 1) {
      const controller = new AbortController();
      const ask = room.ask(`late ${round}`, controller.signal);
      controller.abort(new Error("gone"));
      await expect(ask).rejects.toThrow("gone");
      await quiet();
    }
    await room.ask("a");
    expect(room.admitted).toEqual(["a"]);
  });

  it("repeat an unanswered send before others that wait for its slot", async () => {
    const room = newRoom();
    for (const name of ["a", "b"]) await (await room.ask(name)).settle("unanswered");
    const third = room.ask("c");
    await quiet();
    expect(room.waiting).toContain("c in_flight");
    const again = await room.ask("a");
    expect(room.admitted).toEqual(["a", "b", "a"]);
    await again.settle("accepted");
    await room.limits.endTask("a", 1, 10);
    await third;
  });

  it("keep a slot while its answer is out, however long, and free it after a process's death", async () => {
    const room = newRoom();
    const other = room.another();
    for (const name of ["x", "y"]) {
      await other.admitCreate({ recordId: name, attempt: 1, signal: never, onWaiting: () => {} });
    }
    const mine = room.ask("a");
    await room.clock.advance(3 * 60_000);
    expect(room.admitted).toEqual([]);
    // No sign of life from here on.
    await other.close();
    await room.clock.advance(29_000 - 5_000);
    expect(room.admitted).toEqual([]);
    await room.clock.advance(7_000);
    await mine;
  });

  it("over the budget are refused at once, also behind others that wait", async () => {
    const room = newRoom({ creditBudget: 300 });
    await (await room.ask("a")).settle("accepted");
    await (await room.ask("b")).settle("accepted");
    const failure = await failureOf(room.ask("c"));
    expect(failure.code).toBe("budget_exceeded");
    expect(failure.message).toContain("300");
    await room.limits.endTask("a", 1, 12);
    await room.limits.pause("creates", 40);
    void room.ask("d").catch(() => {});
    await quiet();
    const poorer = room.another({ creditBudget: 200 });
    void poorer
      .admitCreate({ recordId: "e", attempt: 1, signal: never, onWaiting: () => {} })
      .catch(() => {});
    expect((await failureOf(room.another({ creditBudget: 200 }).admitCreate(order("f")))).code).toBe(
      "budget_exceeded",
    );
    await room.limits.endTask("b", 1, 10);
  });

  it("that were refused free their slot and their reservation for the next", async () => {
    const room = newRoom({ creditBudget: 150 });
    await (await room.ask("a")).settle("refused");
    await (await room.ask("b")).settle("unsent");
    await room.ask("c");
  });

  it("are refused when the store is lost, also those that wait", async () => {
    const room = newRoom();
    await room.limits.pause("creates", 40);
    const waits = failureOf(room.ask("a"));
    await quiet();
    room.breakIt(true);
    await room.clock.advance(40_001);
    expect((await waits).code).toBe("store_unavailable");
    expect((await failureOf(room.ask("b"))).code).toBe("store_unavailable");
    room.breakIt(false);
    await room.ask("c");
  });

  it("are told to the store later where it is away when they end", async () => {
    const room = newRoom();
    const slots = [await room.ask("a"), await room.ask("b")];
    room.breakIt(true);
    await slots[0]?.settle("refused");
    await slots[1]?.settle("accepted");
    await room.limits.endTask("b", 1, 12);
    await room.clock.advance(20_000);
    room.breakIt(false);
    await room.clock.advance(5_001);
    const counted = await room.coordinator.countCredits({
      origin: "https://service.example",
      recordId: "",
      attempt: 1,
      windowMs: 86_400_000,
    });
    expect(counted).toBe(12);
    await room.ask("c");
    await room.ask("d");
  });

  it("send away who waits when the limits close", async () => {
    const room = newRoom();
    await room.limits.pause("creates", 40);
    const waits = failureOf(room.ask("a"));
    await quiet();
    await room.limits.close();
    expect((await waits).code).toBe("store_unavailable");
  });
});

function order(recordId: string): Parameters<Limits["admitCreate"]>[0] {
  return { recordId, attempt: 1, signal: never, onWaiting: () => {} };
}

describe("reads", () => {
  /** Starts `count` reads and counts those that ran. */
  function start(limits: Limits, count: number): { readonly ran: number } {
    const state = { ran: 0 };
    for (let at = 0; at < count; at += 1) {
      void limits
        .read(never, async (settled) => {
          state.ran += 1;
          settled();
        })
        .catch(() => {});
    }
    return state;
  }

  it("share 60 in any 60 s with every process", async () => {
    const room = newRoom();
    const other = room.another();
    const mine = start(room.limits, 40);
    const theirs = start(other, 40);
    await quiet();
    await quiet();
    expect(mine.ran + theirs.ran).toBe(60);
    await room.clock.advance(WINDOW_MS + 1);
    expect(mine.ran + theirs.ran).toBe(80);
    await other.close();
  });

  it("hand on what they brought, also a failure, and free their place in time", async () => {
    const { limits } = newRoom();
    expect(await limits.read(never, async () => 7)).toBe(7);
    await expect(limits.read(never, () => Promise.reject(new Error("no route")))).rejects.toThrow("no route");
  });

  it("can be given up while they wait", async () => {
    const room = newRoom();
    await room.limits.pause("reads", 30);
    const controller = new AbortController();
    const read = room.limits.read(controller.signal, async () => 1);
    controller.abort(new Error("enough"));
    await expect(read).rejects.toThrow("enough");
  });

  it("wait out a pause, in every process", async () => {
    const room = newRoom();
    const other = room.another();
    await room.limits.pause("reads", 30);
    const theirs = start(other, 1);
    await room.clock.advance(29_900);
    expect(theirs.ran).toBe(0);
    await room.clock.advance(200);
    expect(theirs.ran).toBe(1);
    await other.close();
  });

  it("go on without the store, at a quarter of the rate, counting what went before", async () => {
    const room = newRoom();
    const before = start(room.limits, 10);
    await quiet();
    expect(before.ran).toBe(10);
    room.breakIt(true);
    const after = start(room.limits, 30);
    await quiet();
    expect(after.ran).toBe(5);
    await room.clock.advance(WINDOW_MS + 1);
    expect(after.ran).toBe(20);
    room.breakIt(false);
    await room.clock.advance(6_000);
    expect(after.ran).toBe(30);
  });

  it("keep a pause also without the store", async () => {
    const room = newRoom();
    room.breakIt(true);
    await room.limits.pause("reads", 30);
    const reads = start(room.limits, 1);
    await room.clock.advance(29_000);
    expect(reads.ran).toBe(0);
    await room.clock.advance(1_100);
    expect(reads.ran).toBe(1);
  });
});

describe("a time scale", () => {
  it("shortens windows and pauses alike", async () => {
    const room = newRoom({ timeScale: 0.01 });
    for (const name of ["a", "b", "c", "d", "e", "f"]) await createWhole(room, name);
    const seventh = room.ask("g");
    await room.clock.advance(599);
    expect(room.admitted).toHaveLength(6);
    await room.clock.advance(10);
    const slot = await seventh;
    await slot.settle("accepted");
    await room.limits.pause("creates", 60);
    const eighth = room.ask("h");
    await room.clock.advance(599);
    expect(room.admitted).toHaveLength(7);
    await room.clock.advance(10);
    await eighth;
  });
});

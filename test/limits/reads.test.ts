/** Queries and downloads of several processes: one budget, pauses, and what is left of it without the store. */
import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/limits/limits.ts";
import { quiet } from "../support/hand-clock.ts";
import { never, newRoom, WINDOW_MS } from "./room.ts";

/** Starts `count` reads and counts those that ran. */
function start(limits: Limits, count: number): { readonly ran: number } {
  const state = { ran: 0 };
  for (let at = 0; at < count; at += 1) {
    void limits
      .read(never, async () => {
        state.ran += 1;
      })
      .catch(() => {});
  }
  return state;
}

describe("reads", () => {
  it("share 60 in any 60 s with every process", async () => {
    const room = newRoom();
    const mine = start(room.limits, 40);
    const theirs = start(room.another().limits, 40);
    await quiet();
    await quiet();
    expect(mine.ran + theirs.ran).toBe(60);
    await room.clock.advance(WINDOW_MS + 1);
    expect(mine.ran + theirs.ran).toBe(80);
  });

  it("count from their end", async () => {
    const room = newRoom();
    let finish = (): void => {};
    const running = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const slow = room.limits.read(never, () => running);
    await room.clock.advance(50_000);
    finish();
    await slow;
    await room.clock.advance(WINDOW_MS - 10_000);
    const more = start(room.limits, 60);
    await quiet();
    await quiet();
    expect(more.ran).toBe(59);
  });

  it("count from when their reader tells of them, where it takes that upon itself", async () => {
    const room = newRoom();
    const settlement = await room.limits.read(never, async (slot) => slot.take());
    if (settlement === undefined) throw new Error("nothing to tell");
    await room.clock.advance(30_000);
    await room.ledger.store.settle(settlement);
    await room.clock.advance(WINDOW_MS - 10_000);
    const more = start(room.limits, 60);
    await quiet();
    await quiet();
    expect(more.ran).toBe(59);
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
    await room.limits.pause("reads", 30);
    const theirs = start(room.another().limits, 1);
    await room.clock.advance(29_900);
    expect(theirs.ran).toBe(0);
    await room.clock.advance(200);
    expect(theirs.ran).toBe(1);
  });

  it("go on without the store, at a quarter of the rate, counting what went before", async () => {
    const room = newRoom();
    const before = start(room.limits, 10);
    await quiet();
    expect(before.ran).toBe(10);
    room.trouble = "away";
    const after = start(room.limits, 30);
    await quiet();
    expect(after.ran).toBe(5);
    await room.clock.advance(WINDOW_MS + 1);
    expect(after.ran).toBe(20);
    room.trouble = "none";
    await room.clock.advance(6_000);
    expect(after.ran).toBe(30);
  });

  it("keep a pause also without the store", async () => {
    const room = newRoom();
    room.trouble = "away";
    await room.limits.pause("reads", 30);
    const reads = start(room.limits, 1);
    await room.clock.advance(29_000);
    expect(reads.ran).toBe(0);
    await room.clock.advance(1_100);
    expect(reads.ran).toBe(1);
  });

  it("of another account have a budget of their own", async () => {
    const room = newRoom();
    const mine = start(room.limits, 60);
    const theirs = start(room.another({}, "other account").limits, 60);
    await quiet();
    await quiet();
    expect([mine.ran, theirs.ran]).toEqual([60, 60]);
  });
});

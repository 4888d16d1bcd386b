/** The queries and downloads of one process: their rate and their pauses. */
import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/limits/limits.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { never, startLimits, WINDOW_MS } from "./limits-under-test.ts";

/** Starts `count` reads and counts those that ran. */
function start(limits: Limits, count: number): { readonly ran: number } {
  const state = { ran: 0 };
  for (let at = 0; at < count; at += 1) {
    void limits.reads
      .run(never, async () => {
        state.ran += 1;
      })
      .catch(() => {});
  }
  return state;
}

describe("reads", () => {
  it("are 60 in any 60 s", async () => {
    const subject = startLimits();
    const reads = start(subject.limits, 80);
    await drainEventLoop();
    await drainEventLoop();
    expect(reads.ran).toBe(60);
    await subject.clock.advance(WINDOW_MS + 1);
    expect(reads.ran).toBe(80);
  });

  it("do not wait for a pause of another process, because a 429 on a read costs nothing", async () => {
    const subject = startLimits();
    start(subject.limits, 60);
    await subject.limits.startCooldown("reads", 30);
    const theirs = start(subject.another().limits, 60);
    await drainEventLoop();
    await drainEventLoop();
    expect(theirs.ran).toBe(60);
  });

  it("count from their end", async () => {
    const subject = startLimits();
    let finish = (): void => {};
    const running = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const slow = subject.limits.reads.run(never, () => running);
    await subject.clock.advance(50_000);
    finish();
    await slow;
    await subject.clock.advance(WINDOW_MS - 10_000);
    const more = start(subject.limits, 60);
    await drainEventLoop();
    await drainEventLoop();
    expect(more.ran).toBe(59);
  });

  it("return their result or error, and release their place in time", async () => {
    const { limits } = startLimits();
    expect(await limits.reads.run(never, async () => 7)).toBe(7);
    await expect(limits.reads.run(never, () => Promise.reject(new Error("no route")))).rejects.toThrow(
      "no route",
    );
  });

  it("can be cancelled while they wait", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("reads", 30);
    const controller = new AbortController();
    const read = subject.limits.reads.run(controller.signal, async () => 1);
    controller.abort(new Error("enough"));
    await expect(read).rejects.toThrow("enough");
  });

  it("wait until a pause ends", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("reads", 30);
    const reads = start(subject.limits, 1);
    await subject.clock.advance(29_900);
    expect(reads.ran).toBe(0);
    await subject.clock.advance(200);
    expect(reads.ran).toBe(1);
  });

  it("work without the store", async () => {
    const subject = startLimits();
    subject.trouble = "away";
    const reads = start(subject.limits, 60);
    await drainEventLoop();
    await drainEventLoop();
    expect(reads.ran).toBe(60);
  });
});

/** Queries and downloads of one process stay within the read limit, and wait during a cooldown. */
import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/limits/limits.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { LIMIT_WINDOW_MS, NEVER_ABORTED, startLimits } from "./limits-under-test.ts";

/** Starts `count` reads. The property `ran` of the result grows as they run. */
function startReads(limits: Limits, count: number): { readonly ran: number } {
  const state = { ran: 0 };
  for (let index = 0; index < count; index += 1) {
    void limits.reads
      .run(NEVER_ABORTED, async () => {
        state.ran += 1;
      })
      .catch(() => {});
  }
  return state;
}

describe("reads", () => {
  it("are at most 60 in any 60 s", async () => {
    const subject = startLimits();
    const reads = startReads(subject.limits, 80);
    await drainEventLoop();
    await drainEventLoop();
    expect(reads.ran).toBe(60);
    await subject.clock.advance(LIMIT_WINDOW_MS + 1);
    expect(reads.ran).toBe(80);
  });

  it("do not wait for a cooldown of another process, because a 429 on a read costs nothing", async () => {
    const subject = startLimits();
    startReads(subject.limits, 60);
    await subject.limits.startCooldown("reads", 30);
    const otherReads = startReads(subject.startAnother().limits, 60);
    await drainEventLoop();
    await drainEventLoop();
    expect(otherReads.ran).toBe(60);
  });

  it("count against the limit from their end", async () => {
    const subject = startLimits();
    let finish = (): void => {};
    const end = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const slowRead = subject.limits.reads.run(NEVER_ABORTED, () => end);
    await subject.clock.advance(50_000);
    finish();
    await slowRead;
    await subject.clock.advance(LIMIT_WINDOW_MS - 10_000);
    const laterReads = startReads(subject.limits, 60);
    await drainEventLoop();
    await drainEventLoop();
    expect(laterReads.ran).toBe(59);
  });

  it("return their result or throw their error", async () => {
    const { limits } = startLimits();
    expect(await limits.reads.run(NEVER_ABORTED, async () => 7)).toBe(7);
    await expect(
      limits.reads.run(NEVER_ABORTED, () => Promise.reject(new Error("no route"))),
    ).rejects.toThrow("no route");
  });

  it("can be cancelled while they wait", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("reads", 30);
    const controller = new AbortController();
    const read = subject.limits.reads.run(controller.signal, async () => 1);
    controller.abort(new Error("enough"));
    await expect(read).rejects.toThrow("enough");
  });

  it("wait until a cooldown ends", async () => {
    const subject = startLimits();
    await subject.limits.startCooldown("reads", 30);
    const reads = startReads(subject.limits, 1);
    await subject.clock.advance(29_900);
    expect(reads.ran).toBe(0);
    await subject.clock.advance(200);
    expect(reads.ran).toBe(1);
  });

  it("run while the store is unreachable", async () => {
    const subject = startLimits();
    subject.storeFault = "unreachable";
    const reads = startReads(subject.limits, 60);
    await drainEventLoop();
    await drainEventLoop();
    expect(reads.ran).toBe(60);
  });
});

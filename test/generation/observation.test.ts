/** An answer about an earlier attempt that arrives when a new one has begun. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/service.ts";
import { nextAttempt } from "../../src/generation/attempts.ts";
import type { GenerationDeps } from "../../src/generation/deps.ts";
import { newRecord, type Work } from "../../src/generation/find-record.ts";
import { markGone } from "../../src/generation/gone.ts";
import { Leases } from "../../src/generation/leases.ts";
import { observe } from "../../src/generation/observe.ts";
import { RecordBook } from "../../src/generation/record-book.ts";
import { recordObservation } from "../../src/generation/watch-task.ts";
import { makeDeps, silentService } from "./bundle.ts";

const WORK: Work = { input: '{"prompt":"Twice tried"}', take: 1, fileName: null };

const failed: ObservedTask = {
  taskId: "task-1",
  status: "failed",
  billing: { reserved_credits: 150, charged_credits: 0, refunded_credits: 150 },
  audioSeconds: null,
  output: null,
  error: { code: "generation_failed", message: "no voice" },
  oddities: [],
};

async function setUp() {
  const { deps: whole } = await makeDeps(silentService);
  const ended: number[] = [];
  const deps: GenerationDeps = {
    ...whole,
    limits: { ...whole.limits, endTask: async (_recordId, attempt) => void ended.push(attempt) },
  };
  const leases = new Leases(deps.store.coordinator, deps.holder, deps.timing.leaseTtlMs, deps.log);
  onTestFinished(() => leases.close());
  const book = new RecordBook(deps.store, leases, deps.clock);
  const claim = newRecord(deps, WORK);
  const first = await book.add(observe(claim, { ...failed, status: "processing", error: null }, 0));
  return { deps, book, first, ended };
}

describe("an answer about an earlier attempt", () => {
  it("does not become the state of the next one, whose task it is not", async () => {
    const { deps, book, first, ended } = await setUp();
    const second = await book.update(first.recordId, nextAttempt);
    expect(second).toMatchObject({ attempt: 2, status: "waiting", taskId: null });
    expect(await recordObservation(deps, book, first, failed)).toEqual(second);
    await markGone(deps, book, first);
    expect(await book.get(first.recordId)).toEqual(second);
    expect(ended).toEqual([1, 1]);
  });

  it("ends the attempt that it belongs to", async () => {
    const { deps, book, first, ended } = await setUp();
    expect(await recordObservation(deps, book, first, failed)).toMatchObject({
      status: "failed",
      attempt: 1,
    });
    expect(ended).toEqual([1]);
  });
});

describe("a task's state", () => {
  it("never goes backwards, and another task replaces it", async () => {
    const { first } = await setUp();
    const queued: ObservedTask = { ...failed, status: "queued", error: null };
    expect(observe(first, queued, 7)).toEqual({ ...first, polledAtMs: 7 });
    const over = observe(first, failed, 8);
    expect(observe(over, queued, 9)).toEqual({ ...over, polledAtMs: 9 });
    expect(observe(over, { ...queued, taskId: "task-2" }, 10)).toMatchObject({
      status: "queued",
      taskId: "task-2",
    });
  });
});

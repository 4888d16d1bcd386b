/** Setting the wall clock while a task is watched does not change the interval between polls. */
import { expect, it, onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { createFailingService, makeDeps, requestOf } from "./request-setup.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

const endless: ObservedTask = {
  taskId: "task-1",
  status: "processing",
  billing: { reserved_credits: 150, charged_credits: null, refunded_credits: null },
  audioSeconds: null,
  output: null,
  error: null,
  deviations: [],
};

it.each([DAY_MS, -DAY_MS])(
  "polls stay five seconds apart after the wall clock moved by %i ms",
  async (moveMs) => {
    const askedAtMs: number[] = [];
    let submissions = 0;
    const { clock, deps } = await makeDeps((time) => ({
      ...createFailingService(),
      submit: async () => {
        submissions += 1;
        return { ...endless, status: "queued" };
      },
      query: async () => {
        askedAtMs.push(time.steadyMs());
        return endless;
      },
    }));
    const { requests } = createRequests(deps);
    onTestFinished(() => requests.close());
    const call = { signal: new AbortController().signal, waitMs: 0, onProgress: () => {} };
    const generate = () => requests.generate(requestOf("Watched for long"), call);

    expect(await generate()).toMatchObject({ status: "queued", taskId: "task-1" });
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.advance(61_000);
      clock.moveWall(moveMs);
      await drainEventLoop();
      expect(await generate()).toMatchObject({ taskId: "task-1", replayed: true });
    }
    expect(askedAtMs).toHaveLength(36);
    const gaps = askedAtMs.slice(1).map((atMs, index) => atMs - (askedAtMs[index] ?? 0));
    expect(new Set(gaps)).toEqual(new Set([5000]));
    expect(submissions).toBe(1);
  },
);

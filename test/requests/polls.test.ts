/**
 * An accepted task is polled once per interval from its acceptance until its end (docs/reference-requests.md,
 * Watching).
 */
import { expect, it, onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { createFailingService, makeDeps, requestOf } from "./request-setup.ts";

const RUNNING: ObservedTask = {
  taskId: "task",
  status: "processing",
  billing: { reserved_credits: 150, charged_credits: null, refunded_credits: null },
  audioSeconds: null,
  output: null,
  error: null,
  deviations: [],
};
/** A task that failed and was charged. Such a task gets no further attempt. */
const ENDED: ObservedTask = {
  ...RUNNING,
  status: "failed",
  billing: { reserved_credits: 150, charged_credits: 10, refunded_credits: 140 },
};
const ENDS_AFTER_MS = 21_000;

it("a task that ends after 21 s is polled 5, 10, 15, 20 and 25 s after its acceptance, regardless of earlier tasks", async () => {
  const pollsAfterMs: number[] = [];
  let acceptedAtMs = 0;
  let submissions = 0;
  const taskId = () => `task-${submissions}`;
  const { clock, deps } = await makeDeps((time) => ({
    ...createFailingService(),
    submit: async () => {
      submissions += 1;
      acceptedAtMs = time.steadyMs();
      return { ...RUNNING, taskId: taskId(), status: "queued" };
    },
    query: async () => {
      const afterMs = time.steadyMs() - acceptedAtMs;
      pollsAfterMs.push(afterMs);
      return { ...(afterMs < ENDS_AFTER_MS ? RUNNING : ENDED), taskId: taskId() };
    },
  }));
  const { requests } = createRequests(deps);
  onTestFinished(() => requests.close());
  const call = { signal: new AbortController().signal, waitMs: 0, onProgress: () => {} };

  for (const prompt of ["First", "Second", "Third"]) {
    const view = await requests.generate(requestOf(prompt), call);
    expect(view.status).toBe("queued");
    await clock.advance(60_000);
    expect(pollsAfterMs.splice(0)).toEqual([5000, 10_000, 15_000, 20_000, 25_000]);
  }
  expect(submissions).toBe(3);
});

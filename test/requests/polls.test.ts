/**
 * An accepted task is polled once per interval from its acceptance until its end (docs/reference-requests.md,
 * Watching), whatever happens to the wall clock.
 */
import { expect, it, onTestFinished } from "vitest";
import { createRequests } from "../../src/requests/requests.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { CALL, createFailingService, makeDeps, observedTask, requestOf } from "./request-setup.ts";

const ENDS_AFTER_MS = 21_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** A task that failed and was charged. Such a task gets no further attempt. */
const ENDED = {
  status: "failed",
  billing: { reserved_credits: 150, charged_credits: 10, refunded_credits: 140 },
} as const;

/** Watches tasks that end after a time, if at all, and notes when each is polled after its acceptance. */
async function watch(endsAfterMs: number) {
  const pollsAfterMs: number[] = [];
  let acceptedAtMs = 0;
  let submissions = 0;
  const { clock, deps } = await makeDeps((time) => ({
    ...createFailingService(),
    submit: async () => {
      submissions += 1;
      acceptedAtMs = time.steadyMs();
      return observedTask({ taskId: `task-${submissions}`, status: "queued" });
    },
    query: async (taskId) => {
      pollsAfterMs.push(time.steadyMs() - acceptedAtMs);
      const hasEnded = time.steadyMs() - acceptedAtMs >= endsAfterMs;
      return observedTask({ taskId, ...(hasEnded ? ENDED : {}) });
    },
  }));
  const { requests } = createRequests(deps);
  onTestFinished(() => requests.close());
  const generate = (prompt: string) => requests.generate(requestOf(prompt), CALL);
  return { clock, pollsAfterMs, generate, submissions: () => submissions };
}

it("a task that ends after 21 s is polled 5, 10, 15, 20 and 25 s after its acceptance, regardless of earlier tasks", async () => {
  const { clock, pollsAfterMs, generate, submissions } = await watch(ENDS_AFTER_MS);
  for (const prompt of ["First", "Second", "Third"]) {
    expect((await generate(prompt)).status).toBe("queued");
    await clock.advance(60_000);
    expect(pollsAfterMs.splice(0)).toEqual([5000, 10_000, 15_000, 20_000, 25_000]);
  }
  expect(submissions()).toBe(3);
});

it.each([DAY_MS, -DAY_MS])(
  "polls stay five seconds apart after the wall clock moved by %i ms",
  async (moveMs) => {
    const { clock, pollsAfterMs, generate, submissions } = await watch(Number.POSITIVE_INFINITY);
    expect(await generate("Watched for long")).toMatchObject({ status: "queued", taskId: "task-1" });
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.advance(61_000);
      clock.moveWall(moveMs);
      await drainEventLoop();
      expect(await generate("Watched for long")).toMatchObject({ taskId: "task-1", replayed: true });
    }
    expect(pollsAfterMs).toEqual(Array.from({ length: 36 }, (_, poll) => 5000 * (poll + 1)));
    expect(submissions()).toBe(1);
  },
);

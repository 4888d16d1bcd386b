/** Work with a time limit: whether the work or the limit ends the call, and what remains afterwards. */
import { getEventListeners } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { runWithTimeout } from "../../src/deadline.ts";

const timeoutError = (): Error => new Error("late");
const LONG_MS = 60_000;

/** Returns a list that grows by each rejection that nothing handles during the test. */
function unhandledRejections(): unknown[] {
  const seen: unknown[] = [];
  const note = (cause: unknown): void => void seen.push(cause);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return seen;
}

it("work with a time limit ends with the error that the work throws, even synchronously, and leaves no timer", async () => {
  const unhandled = unhandledRejections();
  const mistake = new Error("at once");
  const limit = { clock: systemClock, timeoutMs: 20, timeoutError };
  await expect(
    runWithTimeout(limit, () => {
      throw mistake;
    }),
  ).rejects.toBe(mistake);
  await expect(runWithTimeout(limit, async () => await Promise.reject(mistake))).rejects.toBe(mistake);
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(unhandled).toEqual([]);
});

it("work with a time limit ends when the time is over, and the work's signal states the reason", async () => {
  let reason: unknown;
  const limit = { clock: systemClock, timeoutMs: 20, timeoutError };
  const ending = runWithTimeout(limit, async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    reason = signal.reason;
  });
  await expect(ending).rejects.toThrow("late");
  expect(reason).toMatchObject({ message: "late" });
});

it("work with a time limit ends with the caller's reason, whose signal keeps no listener of work that is done", async () => {
  const caller = new AbortController();
  const limit = { clock: systemClock, timeoutMs: LONG_MS, signal: caller.signal, timeoutError };
  for (let times = 0; times < 50; times += 1) await runWithTimeout(limit, async () => times);
  expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
  const pending = runWithTimeout(limit, async () => await new Promise(() => undefined));
  caller.abort(new Error("the caller left"));
  await expect(pending).rejects.toThrow("the caller left");
  await expect(runWithTimeout(limit, async () => 1)).rejects.toThrow("the caller left");
});

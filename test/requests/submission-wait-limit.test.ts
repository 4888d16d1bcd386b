/**
 * How long a job waits for a rate slot that never becomes free (docs/reference-requests.md, A call's wait: up to 65
 * minutes).
 */
import { expect, it, onTestFinished, vi } from "vitest";
import type { AudioError } from "../../src/errors.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { createFailingService, makeDeps } from "./request-setup.ts";

const MINUTE_MS = 60_000;

it("a job without a free rate slot gives up after 65 minutes, unsent and retryable", async () => {
  const { clock, deps } = await makeDeps(createFailingService);
  let isLeft = false;
  vi.spyOn(deps.limits.submissions, "waitForAdmission").mockImplementation(
    (_create, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          isLeft = true;
          reject(signal.reason);
        });
      }),
  );
  const requests = createRequests(deps);
  onTestFinished(() => requests.close());
  // The call's wait is so long that it does not end before the job. The manual clock advances while the ledger opens.
  const call = { signal: new AbortController().signal, waitMs: 24 * 60 * MINUTE_MS, onProgress: () => {} };
  let end: AudioError | undefined;
  const done = requests
    .generate({ input: { prompt: "Never its turn" }, take: 1, fileName: null, mayReplace: false }, call)
    .catch((error: AudioError) => {
      end = error;
    });
  await expect
    .poll(
      async () => {
        // Opening the ledger and the folder takes real time, so the clock may advance before the job begins to wait.
        await clock.advance(MINUTE_MS);
        return end?.code;
      },
      { interval: 1, timeout: 25_000 },
    )
    .toBe("wait_expired");
  await done;
  expect(end?.retryable).toBe(true);
  expect(end?.idempotencyKey).toMatch(/^agm1-/);
  expect(isLeft).toBe(true);
  const [record, ...others] = await deps.ledger.list({ apiKeys: "all", limit: 5 });
  expect(record).toMatchObject({ status: "waiting", sendId: null, spend: null });
  expect(others).toEqual([]);
});

/**
 * How long a job waits for a rate slot that never becomes free (docs/reference-requests.md, A call's wait: up to 65
 * minutes).
 */
import { expect, it, onTestFinished } from "vitest";
import { AudioError } from "../../src/errors.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { CALL, createFailingService, makeDeps, observedTask, requestOf } from "./request-setup.ts";

const MINUTE_MS = 60_000;

/** Fills the minute of the account, as other processes do that submit all the time. */
const fillMinute = ({ database, identity, clock }: Ledger): Promise<void> =>
  database.tx(async (tx) => {
    await database.lockGate(tx, identity.apiKeyId);
    const sends = Array.from({ length: 6 }, (_, index) => ({
      id: `of another process ${index}`,
      atSteadyMs: clock.steadyMs(),
    }));
    await tx
      .updateTable("agm_gate")
      .set({ sends: JSON.stringify(sends) })
      .execute();
  });

it("a job without a free rate slot gives up after 65 minutes, unsent and retryable", async () => {
  const { clock, deps } = await makeDeps(createFailingService);
  const { requests } = createRequests(deps);
  onTestFinished(() => requests.close());
  await fillMinute(deps.ledger);
  // The call's wait is so long that it does not end before the job. The manual clock advances while the ledger opens.
  const call = { signal: new AbortController().signal, waitMs: 24 * 60 * MINUTE_MS, onProgress: () => {} };
  let end: AudioError | undefined;
  const done = requests.generate(requestOf("Never its turn"), call).catch((error: AudioError) => {
    end = error;
  });
  await expect
    .poll(
      async () => {
        await fillMinute(deps.ledger);
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
  const rows = await deps.ledger.database.run((db) =>
    db.selectFrom("agm_current_attempt").select(["status", "send_id", "spent", "owner"]).execute(),
  );
  expect(rows).toEqual([{ status: "waiting", send_id: null, spent: 0, owner: null }]);
});

it("a job that the service puts off for 65 minutes says what the last answer was", async () => {
  const refusal = new AudioError("temporarily_unavailable", "The service answered with HTTP 503.", {
    httpStatus: 503,
    retryable: true,
  });
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: () => Promise.reject(refusal),
  }));
  const { requests } = createRequests(deps);
  onTestFinished(() => requests.close());
  let end: AudioError | undefined;
  const call = { ...CALL, waitMs: 24 * 60 * MINUTE_MS };
  const done = requests.generate(requestOf("Put off"), call).catch((error: AudioError) => {
    end = error;
  });
  for (let minute = 0; minute < 200 && end === undefined; minute += 1) await clock.advance(MINUTE_MS);
  await done;
  expect(end).toMatchObject({
    code: "wait_expired",
    message:
      "The service did not accept the request within 65 minutes. The last time: The service answered with HTTP 503.",
  });
});

it("a job that waits for credits for 65 minutes ends with the refusal, and not without a reason", async () => {
  const refusal = new AudioError("insufficient_credits", "No credits.", { httpStatus: 402 });
  let submissions = 0;
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: async () => {
      submissions += 1;
      if (submissions > 1) throw refusal;
      return observedTask();
    },
    query: async () => observedTask(),
  }));
  const { requests } = createRequests(deps);
  onTestFinished(() => requests.close());
  await clock.until(requests.generate(requestOf("Holds the credits"), CALL));
  let end: AudioError | undefined;
  const call = { ...CALL, waitMs: 24 * 60 * MINUTE_MS };
  const done = requests.generate(requestOf("Waits for them"), call).catch((error: AudioError) => {
    end = error;
  });
  for (let minute = 0; minute < 70 && end === undefined; minute += 1) await clock.advance(MINUTE_MS);
  await done;
  expect(end?.code).toBe("insufficient_credits");
});

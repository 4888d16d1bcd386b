/** A request that was promised to go on by itself is sent although the ledger was away when its turn came. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { AudioError } from "../../src/errors.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { ledgerAwayError, withGate } from "../support/gated-database.ts";
import { createFailingService, makeDeps, observedTask, requestOf } from "./request-setup.ts";

const queued = observedTask({ taskId: "task-1", status: "queued" });

/** A process whose first submission is answered 429 for 30 s, and whose ledger the test takes away. */
async function openInCooldown() {
  let isAway = false;
  let submissions = 0;
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: async () => {
      submissions += 1;
      if (submissions > 1) return queued;
      throw new AudioError("rate_limit", "Too many.", { httpStatus: 429, retryAfterSeconds: 30 });
    },
    query: async () => queued,
  }));
  const database = withGate(deps.ledger.database, async (_use, pass) => {
    if (isAway) throw ledgerAwayError();
    return await pass();
  });
  const { requests } = createRequests({ ...deps, ledger: { ...deps.ledger, database } });
  const setAway = (now: boolean): void => {
    isAway = now;
  };
  onTestFinished(async () => {
    isAway = false;
    await requests.close();
  });
  return {
    setAway,
    countSubmissions: () => submissions,
    call: (waitMs: number) =>
      requests.generate(requestOf("Waits for its turn"), {
        signal: new AbortController().signal,
        waitMs,
        onProgress: () => {},
      }),
    passSeconds: async (count: number): Promise<void> => {
      for (let second = 0; second < count; second += 1) {
        await clock.advance(1000);
        // Files are read and written in real time.
        await sleep(5);
      }
    },
  };
}

it("sends a request whose turn came while the ledger was away", async () => {
  const { setAway, countSubmissions, call, passSeconds } = await openInCooldown();
  const answer = call(0);
  await passSeconds(15);
  expect(await answer).toMatchObject({ status: "waiting" });

  setAway(true);
  await passSeconds(40);
  expect(countSubmissions()).toBe(1);
  setAway(false);
  await passSeconds(5);
  expect(countSubmissions()).toBe(2);
});

it.each([5, 40])(
  "sends nothing for a call that ended with an error because the ledger was away for %i s",
  async (seconds) => {
    const { setAway, countSubmissions, call, passSeconds } = await openInCooldown();
    const answer = call(12_000).catch((error: unknown) => error);
    await passSeconds(10);
    setAway(true);
    await passSeconds(seconds);
    expect(await answer).toMatchObject({ code: "store_unavailable" });
    setAway(false);
    await passSeconds(60);
    expect(countSubmissions()).toBe(1);
  },
);

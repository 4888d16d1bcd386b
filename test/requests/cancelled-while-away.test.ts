/** Calls that are cancelled while the ledger is away hold no credits and pay for nothing. */
import { expect, it, onTestFinished } from "vitest";
import { AudioError } from "../../src/errors.ts";
import type { RequestDeps } from "../../src/requests/deps.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { ledgerAwayError, withGate } from "../support/gated-database.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { createFailingService, makeDeps, requestOf } from "./request-setup.ts";

const COOLDOWN_MS = 60_000;

/** A process whose submissions wait for the end of a cooldown, and whose ledger goes away when the test says so. */
async function setUp(onUse: (deps: RequestDeps, away: () => void) => Promise<void> = async () => undefined) {
  const sent: string[] = [];
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: async (body) => {
      sent.push(body);
      throw new AudioError("rate_limit", "Wait.", { httpStatus: 429, retryAfterSeconds: COOLDOWN_MS / 1000 });
    },
  }));
  let isAway = false;
  const { database } = deps.ledger;
  const setAway = (away: boolean): void => {
    isAway = away;
  };
  const gated = withGate(database, async (_use, pass) => {
    if (isAway) throw ledgerAwayError();
    const answer = await pass();
    await onUse(deps, () => setAway(true));
    return answer;
  });
  const { requests } = createRequests({ ...deps, ledger: { ...deps.ledger, database: gated } });
  onTestFinished(() => requests.close());
  /** Begins a call that waits. Returns what cancels it. */
  const call = (prompt: string): (() => void) => {
    const cancel = new AbortController();
    const request = { signal: cancel.signal, waitMs: 600_000, onProgress: () => undefined };
    requests.generate(requestOf(prompt), request).catch(() => undefined);
    return () => cancel.abort("the user has cancelled");
  };
  call("Begins the cooldown");
  while (sent.length === 0) await drainEventLoop();
  return {
    clock,
    requests,
    call,
    setAway,
    countSent: () => sent.filter((body) => body.includes("Cancelled")).length,
  };
}

it("an admission is taken back if the ledger goes away before it is looked whether somebody still wants it", async () => {
  let onAdmission: (() => void) | null = null;
  const { clock, requests, call, setAway, countSent } = await setUp(async ({ ledger }, away) => {
    const admitted = await ledger.database.run((db) =>
      db
        .selectFrom("agm_task")
        .select("id")
        .where("status", "=", "unresolved")
        .where("body", "like", "%Cancelled%")
        .execute(),
    );
    if (admitted.length === 0 || onAdmission === null) return;
    away();
    onAdmission();
    onAdmission = null;
  });
  const [cancelFirst, cancelSecond] = [call("Cancelled"), call("Cancelled")];
  await clock.advance(1000);
  let wasAdmitted = false;
  onAdmission = () => {
    wasAdmitted = true;
    cancelSecond();
  };
  cancelFirst();
  await clock.advance(COOLDOWN_MS);
  expect(wasAdmitted).toBe(true);
  setAway(false);
  await clock.advance(20_000);
  expect(countSent()).toBe(0);
  expect((await requests.sumSpending()).last30Days).toEqual({ charged: 0, held: 0 });
});

it("a call that is cancelled while the ledger is away wants nothing once it is back, also of a later call", async () => {
  const { clock, call, setAway, countSent } = await setUp();
  const cancelFirst = call("Cancelled");
  await clock.advance(1000);
  setAway(true);
  cancelFirst();
  await clock.advance(1000);
  setAway(false);
  const cancelLater = call("Cancelled");
  await clock.advance(1000);
  cancelLater();
  await clock.advance(2 * COOLDOWN_MS);
  expect(countSent()).toBe(0);
});

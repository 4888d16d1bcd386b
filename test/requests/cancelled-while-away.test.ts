/** Calls that are cancelled while the ledger is away hold no credits and pay for nothing. */
import { expect, it, onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import type { ServiceClient } from "../../src/api/service.ts";
import { AudioError } from "../../src/errors.ts";
import type { NarrateSource } from "../../src/narration/load-narration.ts";
import { NarrationOperations } from "../../src/narration/narrations.ts";
import type { RequestDeps } from "../../src/requests/deps.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { NO_CHANGES } from "../narration/round-model/bench.ts";
import { ledgerAwayError, withGate } from "../support/gated-database.ts";
import { drainEventLoop } from "../support/manual-clock.ts";
import { createFailingService, type Meeting, makeDeps, requestOf } from "./request-setup.ts";

const COOLDOWN_MS = 60_000;

type OnUse = (deps: RequestDeps, goAway: () => void) => Promise<void>;

/** A process whose ledger goes away when the test says so. The service answers the first submission with a cooldown. */
async function openProcess(sent: string[], meeting?: Meeting, onUse: OnUse = async () => undefined) {
  const service: ServiceClient = {
    ...createFailingService(),
    submit: async (body) => {
      sent.push(body);
      if (sent.length > 1) throw new AudioError("invalid_request", "No.", { httpStatus: 400 });
      throw new AudioError("rate_limit", "Wait.", { httpStatus: 429, retryAfterSeconds: COOLDOWN_MS / 1000 });
    },
  };
  const { clock, folder, deps } = await makeDeps(() => service, meeting === undefined ? {} : { meeting });
  let isAway = false;
  const setAway = (away: boolean): void => {
    isAway = away;
  };
  const database = withGate(deps.ledger.database, async (_use, pass) => {
    if (isAway) throw ledgerAwayError();
    const answer = await pass();
    await onUse(deps, () => setAway(true));
    return answer;
  });
  const { requests } = createRequests({ ...deps, ledger: { ...deps.ledger, database } });
  onTestFinished(() => requests.close());
  /** Begins a call that waits. Returns what cancels it. */
  const call = (prompt: string): (() => void) => {
    const cancel = new AbortController();
    const request = { signal: cancel.signal, waitMs: 600_000, onProgress: () => undefined };
    requests.generate(requestOf(prompt), request).catch(() => undefined);
    return () => cancel.abort("the user has cancelled");
  };
  return { meeting: { clock, folder }, clock, requests, call, setAway };
}

/** The same, while a cooldown holds all submissions. */
async function openInCooldown(onUse?: OnUse) {
  const sent: string[] = [];
  const opened = await openProcess(sent, undefined, onUse);
  opened.call("Begins the cooldown");
  while (sent.length === 0) await drainEventLoop();
  return { ...opened, sent, countSent: () => sent.filter((body) => body.includes("Cancelled")).length };
}

/** The same. What is set as `atAdmission` is called once, when the request is admitted and before it is sent. */
async function openAtAdmission() {
  const hook: { atAdmission: (() => void) | null } = { atAdmission: null };
  const opened = await openInCooldown(async ({ ledger }) => {
    const admitted = await ledger.database.run((db) =>
      db
        .selectFrom("agm_current_attempt")
        .select("id")
        .where("status", "=", "unresolved")
        .where("body", "like", "%Cancelled%")
        .execute(),
    );
    const { atAdmission } = hook;
    if (admitted.length === 0 || atAdmission === null) return;
    hook.atAdmission = null;
    atAdmission();
  });
  return { ...opened, hook };
}

it("an admission is taken back if the ledger goes away before it is looked whether somebody still wants it", async () => {
  const { clock, requests, call, setAway, countSent, hook } = await openAtAdmission();
  const [cancelFirst, cancelSecond] = [call("Cancelled"), call("Cancelled")];
  await clock.advance(1000);
  hook.atAdmission = () => {
    setAway(true);
    cancelSecond();
  };
  cancelFirst();
  await clock.advance(COOLDOWN_MS);
  expect(hook.atAdmission).toBeNull();
  setAway(false);
  await clock.advance(20_000);
  expect(countSent()).toBe(0);
  expect(await requests.sumSpending()).toMatchObject({ last30Days: 0, held: 0 });
});

it("an admission is taken back if the program is asked to stop before it is sent", async () => {
  const { clock, meeting, sent, requests, call, countSent, hook } = await openAtAdmission();
  call("Cancelled");
  await clock.advance(1000);
  let stopped: Promise<void> | undefined;
  hook.atAdmission = () => {
    stopped = requests.close();
  };
  await clock.advance(COOLDOWN_MS);
  await stopped;
  expect([hook.atAdmission, countSent()]).toEqual([null, 0]);
  const later = await openProcess(sent, meeting);
  expect(await later.requests.sumSpending()).toMatchObject({ held: 0 });
});

it("a call that is cancelled while the ledger is away pays for nobody once it is back", async () => {
  const { clock, meeting, sent, call, setAway, countSent } = await openInCooldown();
  const cancelFirst = call("Cancelled");
  await clock.advance(1000);
  setAway(true);
  cancelFirst();
  await clock.advance(1000);
  setAway(false);
  await clock.advance(10_000);
  const other = await openProcess(sent, meeting);
  const cancelOther = other.call("Cancelled");
  await clock.advance(1000);
  cancelOther();
  await clock.advance(2 * COOLDOWN_MS);
  expect(countSent()).toBe(0);
});

it("a request whose job ended while the ledger was away is taken up by another process", async () => {
  const { clock, meeting, sent, call, setAway, countSent } = await openInCooldown();
  const cancel = call("Cancelled");
  await clock.advance(1000);
  setAway(true);
  cancel();
  await clock.advance(1000);
  setAway(false);
  const other = await openProcess(sent, meeting);
  other.call("Cancelled");
  await clock.advance(2 * COOLDOWN_MS);
  expect(countSent()).toBe(1);
});

it("a narration that is cancelled while the ledger is away begins no part once it is back", async () => {
  const sent: string[] = [];
  let status: "processing" | "succeeded" = "processing";
  const taskOf = (taskId: string): ObservedTask => ({
    ...{ taskId, status, billing: null, audioSeconds: null, output: null, error: null, deviations: [] },
  });
  const service: ServiceClient = {
    ...createFailingService(),
    submit: async (body) => taskOf(`task-${sent.push(body)}`),
    query: async (taskId) => taskOf(taskId),
    openContent: async () => {
      throw new AudioError("network_error", "No audio yet.", { retryable: true });
    },
  };
  const { clock, deps } = await makeDeps(() => service);
  let isAway = false;
  const database = withGate(deps.ledger.database, async (_use, pass) => {
    if (isAway) throw ledgerAwayError();
    return await pass();
  });
  const gated = { ...deps, ledger: { ...deps.ledger, database } };
  const { requests, driver } = createRequests(gated);
  const narrations = new NarrationOperations({
    ...{ ...gated, driver, captionFiles: "vtt", containsSecret: () => false },
  });
  onTestFinished(async () => {
    await narrations.close();
    await requests.close();
  });
  const text = ["One", "Two", "Three", "Four", "Five"].map((name) => `# ${name}\n\nIt is.`).join("\n\n");
  const source: NarrateSource = {
    kind: "text",
    input: { text, format: "markdown" },
    options: { settings: { output_format: "pcm" }, voices: {}, pauseSeconds: 0.01, fileLayout: "one" },
  };
  const cancel = new AbortController();
  const call = { signal: cancel.signal, waitMs: 600_000, onProgress: () => undefined };
  const limit = { ...NO_CHANGES, maxCredits: 5000 };
  narrations.narrate(source, limit, call).catch(() => undefined);
  while (sent.length < 2) await clock.advance(100);
  isAway = true;
  cancel.abort("the user has cancelled");
  await clock.advance(1000);
  isAway = false;
  status = "succeeded";
  await clock.advance(120_000);
  expect(sent).toHaveLength(2);
});

/**
 * The program of a child process, for tests of several processes on one ledger. Its argument says, as JSON, what to do.
 */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import Client from "pg/lib/client.js";
import { z } from "zod";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import { systemClock } from "../../src/clock.ts";
import { AudioError } from "../../src/errors.ts";
import { UNSENT_ATTEMPT } from "../../src/ledger/lifecycle.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import type { RequestRecord } from "../../src/ledger/record.ts";
import { Limits } from "../../src/limits/limits.ts";
import type { AdmissionWaitResult } from "../../src/limits/submission-queue.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { sampleRecord } from "./sample-record.ts";

const jobSchema = z.object({
  job: z.enum(["load", "create", "hang", "idle", "step"]),
  baseUrl: z.string(),
  apiKey: z.string(),
  stateDir: z.string(),
  storeUrl: z.string().nullable(),
  name: z.string(),
  count: z.int(),
  timeScale: z.number(),
  creditBudget: z.number().nullable(),
  /** The process kills itself after this number of statements of its admission; 0: never. */
  diesAfter: z.int(),
});
export type Job = z.infer<typeof jobSchema>;

/** Writes a fact at once and completely, so that a killed process has reported everything that it did. */
function tell(fact: object): void {
  writeSync(1, `${JSON.stringify(fact)}\n`);
}

const job = jobSchema.parse(JSON.parse(process.argv[2] ?? ""));
const log = createLog("warn", (text) => text);
const ledger = await openLedger({
  config: job,
  serviceAccess: job,
  processId: createProcessId(),
  log,
  clock: systemClock,
});
const limits = new Limits({ ...job, ledger, clock: systemClock, log });
const signal = new AbortController().signal;

async function acquireLease(at: number): Promise<RequestRecord> {
  const { baseUrl, apiKeyId } = ledger.identity;
  const recordId = `${job.name}-${at}`;
  const names = { recordId, requestFingerprint: `work of ${recordId}`, baseUrl, apiKeyId };
  const draft = sampleRecord({ ...UNSENT_ATTEMPT, ...names, revision: 0, createdAtMs: systemClock.wallMs() });
  return (await ledger.acquireLease(draft)).record;
}

async function admit(at: number): Promise<Extract<AdmissionWaitResult, { kind: "admitted" }>> {
  const grant = await limits.submissions.waitForAdmission(
    { record: await acquireLease(at), onWaiting: () => {} },
    signal,
  );
  if (grant.kind !== "admitted") throw new Error(`the submission is ${grant.kind}`);
  return grant;
}

const observedEvent = (record: RequestRecord, status: ObservedTask["status"]) =>
  ({
    kind: "observed",
    attempt: record.attempt,
    task: {
      taskId: `task of ${record.recordId}`,
      status,
      billing: null,
      audioSeconds: null,
      output: null,
      error: null,
      deviations: [],
    },
    atMs: systemClock.wallMs(),
  }) as const;

/** The limits delay nothing, so that only the ledger causes waits. */
const NO_LIMITS = {
  maxSubmissions: 1_000_000,
  limitWindowMs: 60_000,
  maxConcurrentTasks: 1_000_000,
  unresolvedSlotTtlMs: 30_000,
  budget: { credits: 1e9, windowMs: 24 * 60 * 60_000 },
};

/**
 * Requests one admission after another, and reports each outcome as soon as it is known. Continues with the next one
 * after a retryable error, such as an unavailable store.
 */
async function load(): Promise<void> {
  for (let at = 0; at < job.count; at += 1) {
    try {
      const record = await acquireLease(at);
      tell({ written: record.recordId });
      const admission = await ledger.requestAdmission(record, randomUUID(), NO_LIMITS);
      // A crash of the database server may lose the claimed record. The admission is then refused.
      tell(admission.kind === "admitted" ? { admitted: record.recordId } : { refused: admission.kind });
    } catch (error) {
      if (!(error instanceof AudioError && error.retryable)) throw error;
      tell({ refused: error.code });
    }
  }
}

/** Counts the statements that the ledger runs, on any engine. Kills this process after statement number `statement`. */
function dieAfter(statement: number): { count: number } {
  const steps = { count: 0 };
  const step = <T>(answer: T): T => {
    steps.count += 1;
    if (steps.count === statement) process.kill(process.pid, "SIGKILL");
    return answer;
  };
  const { prototype: statements } = StatementSync;
  const { all, run } = statements;
  statements.all = function (...values) {
    return step(Reflect.apply(all, this, values));
  };
  statements.run = function (...values) {
    return step(Reflect.apply(run, this, values));
  };
  const { prototype: client } = Client;
  const query = client.query;
  let last: Promise<unknown> = Promise.resolve();
  // Send each statement only after the previous answer. When this process dies, the server has run no later statement.
  Object.assign(client, {
    query(this: Client, ...words: unknown[]) {
      const answer = last.then(() => Reflect.apply(query, this, words)).then(step);
      last = answer.catch(() => undefined);
      return answer;
    },
  });
  return steps;
}

async function dieInAdmission(): Promise<void> {
  const record = await acquireLease(0);
  const steps = dieAfter(job.diesAfter);
  const admission = await ledger.requestAdmission(record, randomUUID(), {
    ...NO_LIMITS,
    maxSubmissions: 1,
    maxConcurrentTasks: 1,
  });
  tell({ admitted: admission.kind, steps: steps.count });
  await ledger.store.close();
}

/** Simulates a submission that arrives at the service some time after its admission, and whose task takes a while. */
async function create(at: number): Promise<void> {
  try {
    const { record, sendId } = await admit(at);
    await sleep(Math.random() * 15);
    const arrivedAtMs = systemClock.steadyMs();
    await sleep(Math.random() * 15);
    limits.heartbeats.clearPending(sendId);
    const sendOutcome = { sendId, outcome: "sent" } as const;
    const accepted = await ledger.apply(record, observedEvent(record, "queued"), { sendOutcome });
    await sleep(30 + Math.random() * 40);
    const endedAtMs = systemClock.steadyMs();
    if (accepted === null) throw new Error("the accepted record is gone");
    await ledger.apply(accepted, observedEvent(accepted, "succeeded"));
    limits.submissions.wake();
    tell({ created: record.recordId, arrivedAtMs, endedAtMs });
  } catch (error) {
    tell({ refused: error instanceof Error && "code" in error ? error.code : String(error) });
  }
}

if (job.job === "load") await load();
else if (job.job === "step") await dieInAdmission();
else if (job.job === "create") {
  // The timers of the limits do not keep a process alive, so use another timer.
  const alive = setInterval(() => {}, 1000);
  await Promise.all(Array.from({ length: job.count }, (_, at) => create(at)));
  clearInterval(alive);
  await limits.close();
  await ledger.store.close();
} else {
  const { record } = await admit(0);
  tell({ admitted: record.recordId });
  if (job.job === "hang") setInterval(() => {}, 1000);
}

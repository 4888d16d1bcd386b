/**
 * The program of a child process, for tests of several processes on one ledger. Its argument says, as JSON, what to do.
 */
import { writeSync } from "node:fs";
import { StatementSync } from "node:sqlite";
import Client from "pg/lib/client.js";
import { z } from "zod";
import { systemClock } from "../../src/clock.ts";
import { AudioError } from "../../src/errors.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { renewLeases } from "../../src/ledger/request-rows.ts";
import type { RequestRow } from "../../src/ledger/schema.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { ask, place } from "./place-request.ts";

const jobSchema = z.object({
  job: z.enum(["load", "step"]),
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
const ledger = await openLedger({
  config: job,
  serviceAccess: job,
  processId: createProcessId(),
  log: createLog("warn", (text) => text),
  clock: systemClock,
});

const requests: string[] = [];
async function placeNumber(at: number, of = ledger): Promise<RequestRow> {
  const row = await place(of, `${job.name}-${at}`);
  requests.push(row.id);
  return row;
}

/** Each request has an account of its own, so that no limit delays it and only the ledger causes waits. */
const withOwnAccount = (at: number): Ledger => ({
  ...ledger,
  identity: { ...ledger.identity, apiKeyId: `account of ${job.name}-${at}` },
});

/**
 * Requests one admission after another, and reports each outcome as soon as it is known. Continues with the next one
 * after a retryable error, such as an unavailable store.
 */
async function load(): Promise<void> {
  for (let at = 0; at < job.count; at += 1) {
    try {
      const own = withOwnAccount(at);
      const row = await placeNumber(at, own);
      tell({ written: row.id });
      const admission = await ask(own, row);
      tell(admission.kind === "admitted" ? { admitted: row.id } : { refused: admission.kind });
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
  const row = await placeNumber(0);
  const steps = dieAfter(job.diesAfter);
  const admission = await ask(ledger, row);
  tell({ admitted: admission.kind, steps: steps.count });
  await ledger.database.close();
}

/** Renews the leases, as the driver of requests does. */
const renewal = setInterval(() => {
  renewLeases(ledger, { requests, narrations: [] }).catch(() => undefined);
}, 1000);

if (job.job === "load") await load();
else {
  clearInterval(renewal);
  await dieInAdmission();
}

/** Opens stores on PostgreSQL for tests of database faults. Each store is closed after its test. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { PostgresEngine } from "../../src/ledger/postgres/postgres-engine.ts";
import { toRow } from "../../src/ledger/record.ts";
import { LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";
import { sampleRecord } from "./sample-record.ts";

export const BASE_URL = "https://service.example";

/** Time limit for the report of an unavailable store: the documented 5 s, plus 10 s in case the machine is slow. */
const BOUND_MS = 15_000;

export function openEngine(storeUrl: string, logged: string[] = []): PostgresEngine {
  const log = createLog(
    "debug",
    (text) => text,
    (line) => logged.push(line),
  );
  const engine = new PostgresEngine({ storeUrl, log });
  onTestFinished(() => engine.close());
  return engine;
}

/** Opens a store for one API key and one process. */
export function openShared(
  storeUrl: string,
  { logged = [], apiKeyId = "account", machineId = "machine" }: SharedOptions = {},
): LedgerStore {
  const engine = openEngine(storeUrl, logged);
  const identity = { baseUrl: BASE_URL, apiKeyId, processId: "holder" };
  return new LedgerStore({ engine, identity, machineId, wallMs: () => systemClock.wallMs() });
}

interface SharedOptions {
  readonly logged?: string[];
  readonly apiKeyId?: string;
  readonly machineId?: string;
}

export const claim = (store: LedgerStore, changes: Parameters<typeof sampleRecord>[0] = {}) =>
  store.acquireLease({ row: toRow(sampleRecord(changes)), leaseTtlMs: 15_000 });

/** Requests the admission of a new record, with limits that are too high to refuse it. */
export async function admit(store: LedgerStore, apiKeyId = "account") {
  const waiting = sampleRecord({ recordId: randomUUID(), apiKeyId, status: "waiting", taskId: null });
  await claim(store, waiting);
  const spend = { credits: 150, atMs: systemClock.wallMs() };
  const admittedRow = toRow({ ...waiting, status: "unresolved", revision: waiting.revision + 1, spend });
  const limits = {
    maxSubmissions: 1000,
    limitWindowMs: 60_000,
    maxConcurrentTasks: 1000,
    unresolvedSlotTtlMs: 30_000,
  };
  const budget = { credits: 1_000_000, windowMs: 24 * 60 * 60_000 };
  return store.admissions.admit({
    ...limits,
    ...{ admittedRow, budget, expectedRevision: waiting.revision, sendId: randomUUID(), narrationId: null },
  });
}

/** Expects that a call fails in time because the store is unavailable, and that the error names the store. */
export async function expectAway(call: Promise<unknown>, words: RegExp): Promise<void> {
  const startedAtMs = performance.now();
  const failure = await failureOf(call);
  expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
  expect(failure.message).toMatch(/^The PostgreSQL database \S+ on \S+ /);
  expect(failure.message).toMatch(words);
  expect(performance.now() - startedAtMs).toBeLessThan(BOUND_MS);
}

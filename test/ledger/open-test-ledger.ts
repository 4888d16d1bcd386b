/** Opens ledgers for tests of its queries, on both engines, with a clock that the test advances. */
import { onTestFinished } from "vitest";
import { requestAdmission } from "../../src/ledger/admission.ts";
import { openDatabase } from "../../src/ledger/database.ts";
import { deriveRecordId } from "../../src/ledger/identity.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { acquireRequest, insertRequest, readRequest } from "../../src/ledger/request-rows.ts";
import type { RequestRow } from "../../src/ledger/schema.ts";
import { addWish } from "../../src/ledger/wishes.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { whyNoPostgres } from "../support/postgres-server.ts";
import { sampleRequest } from "../support/sample-request.ts";
import { scratchFolder } from "../support/scratch.ts";

/** Where the ledgers of one test are stored, and the clock that they share. */
export interface Place {
  readonly clock: ManualClock;
  readonly stateDir: string | null;
  readonly storeUrl: string | null;
}

export interface EngineUnderTest {
  readonly engine: string;
  /** Why its tests are skipped; `null` if they run. */
  readonly whyNot: string | null;
  createPlace(): Promise<Place>;
}

/** @param newPostgresUrl creates an empty database, as `databasesOfFile` does */
export const listEngines = (newPostgresUrl: () => Promise<string>): readonly EngineUnderTest[] => [
  {
    engine: "SQLite",
    whyNot: null,
    createPlace: async () => ({ clock: new ManualClock(), stateDir: scratchFolder(), storeUrl: null }),
  },
  {
    engine: "PostgreSQL",
    whyNot: whyNoPostgres() ?? null,
    createPlace: async () => ({
      clock: new ManualClock(),
      stateDir: null,
      storeUrl: await newPostgresUrl(),
    }),
  },
];

export interface LedgerChoices {
  readonly apiKeyId?: string;
  readonly machineId?: string;
  readonly processId?: string;
  readonly baseUrl?: string;
  readonly creditBudget?: number | null;
}

/** Opens the ledger of one process. It is closed after the test. */
export async function openLedgerAt(
  { clock, stateDir, storeUrl }: Place,
  {
    apiKeyId = "account",
    machineId = "this",
    processId = createProcessId(),
    baseUrl = "https://service.example",
    creditBudget = null,
  }: LedgerChoices = {},
): Promise<Ledger> {
  const log = createLog("silent", (text) => text);
  const database = await openDatabase({
    config: { stateDir, storeUrl },
    log,
    clock,
    clockSql: () => `${clock.steadyMs()}`,
  });
  onTestFinished(() => database.close());
  const identity = { baseUrl, apiKeyId, processId, machineId };
  return { database, identity, clock, log, timeScale: 1, creditBudget };
}

/** Stores a request that a call waits for, and lets the process of the ledger drive it. */
export async function place(
  ledger: Ledger,
  text: string,
  changes: Partial<RequestRow> = {},
  isWanted = true,
): Promise<RequestRow> {
  const { identity, clock } = ledger;
  const nowMs = clock.wallMs();
  const fresh = sampleRequest({
    ...{ id: deriveRecordId(text, identity.apiKeyId), base_url: identity.baseUrl, fingerprint: text },
    ...{ api_key_id: identity.apiKeyId, created_at_ms: nowMs, updated_at_ms: nowMs },
    ...{ body: JSON.stringify({ prompt: text }), status: "waiting", task_id: null, ...changes },
  });
  await ledger.database.tx(async (tx, nowSteadyMs) => {
    await insertRequest(tx, ledger, fresh);
    if (isWanted) await addWish(tx, ledger, nowSteadyMs, { target: fresh.id, kind: "call" });
  });
  const { row } = await acquireRequest(ledger, fresh.id);
  if (row === undefined) throw new Error("the row was not stored");
  return row;
}

/** Asks whether the submission of a request may leave. */
export const ask = (
  ledger: Ledger,
  row: Pick<RequestRow, "id">,
  sendId = crypto.randomUUID(),
  isResend = false,
) => requestAdmission(ledger, row, sendId, isResend);

export async function look(ledger: Ledger, { id }: Pick<RequestRow, "id">): Promise<RequestRow> {
  const row = await ledger.database.run((db) => readRequest(db, id));
  if (row === undefined) throw new Error("the row is gone");
  return row;
}

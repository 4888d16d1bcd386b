/** Opens ledgers for tests of its queries, on both engines, with a clock that the test advances. */
import { onTestFinished } from "vitest";
import { openDatabase } from "../../src/ledger/database.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { whyNoPostgres } from "../support/postgres-server.ts";
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
    whyNot: whyNoPostgres(),
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

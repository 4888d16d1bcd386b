/** Opens databases for tests, and has the few calls that tests of faults make. Each database is closed after its test. */
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/clock.ts";
import { type Database, openDatabase } from "../../src/ledger/database.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";

/** Time limit for the report of an unavailable database: the documented 5 s, plus 10 s in case the machine is slow. */
const BOUND_MS = 15_000;

export interface TestDatabaseOptions {
  readonly stateDir?: string;
  readonly storeUrl?: string;
  readonly logged?: string[];
  readonly clockSql?: () => string;
}

/** Opens a database that the caller closes. */
export async function openUnclosed(options: TestDatabaseOptions): Promise<Database> {
  const { stateDir = null, storeUrl = null, logged = [], clockSql } = options;
  const log = createLog(
    "debug",
    (text) => text,
    (line) => logged.push(line),
  );
  const config = { stateDir, storeUrl };
  return await openDatabase({ config, log, clock: systemClock, ...(clockSql && { clockSql }) });
}

export async function openTestDatabase(options: TestDatabaseOptions): Promise<Database> {
  const database = await openUnclosed(options);
  onTestFinished(() => database.close());
  return database;
}

export const openShared = (storeUrl: string, logged: string[] = []): Promise<Database> =>
  openTestDatabase({ storeUrl, logged });

export const write = (database: Database, name: string, value = name): Promise<unknown> =>
  database.run((db) =>
    db
      .insertInto("agm_document")
      .values({ name, value })
      .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
      .execute(),
  );

/** Returns the value that was written, or `undefined`. */
export const read = async (database: Database, name: string): Promise<string | undefined> =>
  (
    await database.run((db) =>
      db.selectFrom("agm_document").select("value").where("name", "=", name).executeTakeFirst(),
    )
  )?.value;

const sendsSchema = z.array(z.object({ id: z.string(), atSteadyMs: z.number() }));

/** Adds a send to an account's row under its lock, like an admission. Recognises its own earlier run. */
export const addSend = (database: Database, account: string, id: string = crypto.randomUUID()) =>
  database.tx(async (tx) => {
    const gate = await database.lockGate(tx, account);
    const sends = sendsSchema.parse(JSON.parse(gate.sends));
    if (sends.some((send) => send.id === id)) return;
    const changed = JSON.stringify([...sends, { id, atSteadyMs: gate.nowSteadyMs }]);
    await tx.updateTable("agm_gate").set({ sends: changed }).where("id", "=", account).execute();
  });

export const listSends = (database: Database, account: string) =>
  database.tx(async (tx) => sendsSchema.parse(JSON.parse((await database.lockGate(tx, account)).sends)));

/** Expects that a call fails in time because the database is unavailable, and that the error names the database. */
export async function expectAway(call: Promise<unknown>, words: RegExp): Promise<void> {
  const startedAtMs = performance.now();
  const failure = await failureOf(call);
  expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
  expect(failure.message).toMatch(/^The PostgreSQL database \S+ on \S+ /);
  expect(failure.message).toMatch(words);
  expect(performance.now() - startedAtMs).toBeLessThan(BOUND_MS);
}

/**
 * Reads a ledger file from outside the servers, and delays or blocks its writes, so that the servers wait or fail.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { systemClock } from "../../src/clock.ts";
import { toPathLookupKey } from "../../src/ledger/identity.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { deriveConcurrencySlotState, type RequestRecord } from "../../src/ledger/record.ts";
import { BUDGET_WINDOW_MS } from "../../src/limits/timing.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { openSqliteStore } from "./sqlite-ledger.ts";

const counted = z.object({ count: z.int() });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Kinds of writes that a test can delay or make fail, each recognised by what it changes. */
const WRITES = {
  "any record": "INSERT ON agm_records",
  "an admission": "UPDATE ON agm_records WHEN new.status = 'unresolved'",
  "a task id":
    "UPDATE ON agm_records WHEN old.status = 'unresolved' AND new.concurrency_slot_state = 'accepted'",
  "the end of a task":
    "UPDATE ON agm_records WHEN old.concurrency_slot_state = 'accepted' AND new.concurrency_slot_state IS NULL",
  "a saved file": `UPDATE ON agm_records
    WHEN json_array_length(new.record_json, '$.files') > json_array_length(old.record_json, '$.files')`,
} as const;
type ObstructedWrite = keyof typeof WRITES;

/** A statement that takes some seconds. */
const SLOW_SQL = `SELECT (WITH RECURSIVE step(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < 30000000)
  SELECT count(*) FROM step);`;

export class LedgerController {
  readonly #db: DatabaseSync;
  readonly #ledger: Ledger;

  private constructor(db: DatabaseSync, ledger: Ledger) {
    this.#db = db;
    this.#ledger = ledger;
  }

  /**
   * Opens the ledger of a state folder. Waits until a server has created it.
   *
   * @param baseUrl the address of the service whose records are read, for all API keys
   */
  static async open(stateDir: string, baseUrl: string, withinMs = 5000): Promise<LedgerController> {
    const file = join(stateDir, "ledger.sqlite");
    const giveUpAtMs = performance.now() + withinMs;
    while (!existsSync(file)) {
      if (performance.now() > giveUpAtMs) throw new Error("no ledger was made");
      await turn();
    }
    const log = createLog("silent", (text) => text);
    const identity = { baseUrl, apiKeyId: "nobody", processId: createProcessId() };
    const store = openSqliteStore({ stateDir, clock: systemClock, identity });
    const ledger = new Ledger(store, identity, systemClock, log);
    await ledger.list({ apiKeys: "all", limit: 1 });
    return new LedgerController(new DatabaseSync(file, { timeout: 5000 }), ledger);
  }

  /** Returns all records, newest first. */
  async records(): Promise<RequestRecord[]> {
    return await this.#ledger.list({ apiKeys: "all", limit: 1_000_000, includesParts: true });
  }

  /** Returns the number of records that have a concurrency slot. */
  async concurrencySlots(): Promise<number> {
    return (await this.records()).filter((record) => deriveConcurrencySlotState(record) !== null).length;
  }

  /** Returns the number of rate slots that submissions occupy. */
  rateSlotCount(): number {
    const row = this.#db
      .prepare("SELECT sum(json_array_length(nullif(state, ''), '$.rateSlots')) AS count FROM agm_api_keys")
      .get();
    return counted.parse(row).count;
  }

  /** Returns the credits that the budget counts. */
  async spentInWindowCredits(): Promise<number> {
    return await this.#ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS);
  }

  integrity(): string {
    return JSON.stringify(this.#db.prepare("PRAGMA integrity_check").all());
  }

  /** Waits, without a lock, until `isReached` is true for the records. */
  async waitUntil(
    isReached: (records: readonly RequestRecord[]) => boolean,
    withinMs = 10_000,
  ): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    while (!isReached(await this.records())) {
      if (performance.now() > giveUpAtMs) throw new Error("the ledger never showed what was awaited");
      await turn();
    }
  }

  /**
   * Makes one kind of write take seconds from now on, like a slow disk, so that a test can kill the process during it.
   */
  slowDown(write: ObstructedWrite): void {
    this.#obstruct(write, SLOW_SQL);
  }

  /** Makes one kind of write fail from now on, as on a full disk. */
  failWrites(write: ObstructedWrite): void {
    this.#obstruct(write, "SELECT RAISE(ABORT, 'no room');");
  }

  /** Makes all writes work again. */
  repair(): void {
    this.#db.exec("DROP TRIGGER IF EXISTS obstructed");
  }

  /** Changes the ledger as if the file at `path` had been saved at the path `was`. */
  renameFile(path: string, was: string): void {
    this.#db.prepare("UPDATE agm_records SET record_json = replace(record_json, ?, ?)").run(path, was);
    this.#db
      .prepare("UPDATE agm_lookup_keys SET lookup_key = ? WHERE lookup_key = ?")
      .run(toPathLookupKey(was), toPathLookupKey(path));
  }

  hold(): void {
    this.#db.exec("BEGIN IMMEDIATE");
  }

  release(): void {
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }

  /**
   * Lets the servers write in very small steps until `reached` is true for the records. From then on nobody can write
   * until {@link release} is called, so each server waits just after that point.
   */
  async freezeWhen(
    reached: (records: readonly RequestRecord[]) => boolean,
    withinMs = 10_000,
  ): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    for (;;) {
      this.hold();
      if (reached(await this.records())) return;
      this.release();
      if (performance.now() > giveUpAtMs) throw new Error("the ledger never came to the awaited point");
      await turn();
    }
  }

  async close(): Promise<void> {
    this.release();
    this.#db.close();
    await this.#ledger.store.close();
  }

  #obstruct(write: ObstructedWrite, action: string): void {
    this.#db.exec(`CREATE TRIGGER obstructed BEFORE ${WRITES[write]} BEGIN ${action} END`);
  }
}

/**
 * Reads a ledger file from outside the servers, and delays or blocks its writes, so that the servers wait or fail.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  FILES_QUERY,
  IS_CREATED_QUERY,
  type LedgerQuery,
  type LedgerRecord,
  type ObstructedWrite,
  obstructionSql,
  parseRecords,
  parseTotal,
  RATE_SLOTS_QUERY,
  REMOVE_OBSTRUCTION_SQL,
  recordsQuery,
  spentCreditsQuery,
  UNDRIVEN_NARRATIONS_QUERY,
} from "./ledger-rows.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function read(db: DatabaseSync, { text, values }: LedgerQuery): unknown[] {
  return db.prepare(text).all(...values);
}

export class LedgerController {
  readonly #db: DatabaseSync;
  readonly #baseUrl: string;

  private constructor(db: DatabaseSync, baseUrl: string) {
    this.#db = db;
    this.#baseUrl = baseUrl;
  }

  /**
   * Opens the ledger of a state folder. Waits until a server has created it.
   *
   * @param baseUrl the address of the service whose records are read, for all API keys
   */
  static async open(stateDir: string, baseUrl: string, withinMs = 5000): Promise<LedgerController> {
    const file = join(stateDir, "ledger.sqlite");
    const giveUpAtMs = performance.now() + withinMs;
    const waitTurn = async (): Promise<void> => {
      if (performance.now() > giveUpAtMs) throw new Error("no ledger was made");
      await turn();
    };
    while (!existsSync(file)) await waitTurn();
    const db = new DatabaseSync(file, { timeout: 5000 });
    while (parseTotal(read(db, IS_CREATED_QUERY)) === 0) await waitTurn();
    return new LedgerController(db, baseUrl);
  }

  /** Returns all records, newest first. */
  records(): LedgerRecord[] {
    return parseRecords(read(this.#db, recordsQuery(this.#baseUrl)), read(this.#db, FILES_QUERY));
  }

  /** Returns the number of records that have a concurrency slot. */
  concurrencySlots(): number {
    return this.records().filter((record) => record.is_open === 1).length;
  }

  /** Returns the number of rate slots that submissions occupy. */
  rateSlotCount(): number {
    return parseTotal(read(this.#db, RATE_SLOTS_QUERY));
  }

  /** Returns the credits that the budget counts. */
  spentInWindowCredits(): number {
    return parseTotal(read(this.#db, spentCreditsQuery(this.#baseUrl)));
  }

  /** Returns the number of narrations that run although no process drives them yet. */
  undrivenNarrationCount(): number {
    return parseTotal(read(this.#db, UNDRIVEN_NARRATIONS_QUERY));
  }

  integrity(): string {
    return JSON.stringify(this.#db.prepare("PRAGMA integrity_check").all());
  }

  /** Waits, without a lock, until `isReached` is true for the records. */
  async waitUntil(
    isReached: (records: readonly LedgerRecord[]) => boolean,
    withinMs = 10_000,
  ): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    while (!isReached(this.records())) {
      if (performance.now() > giveUpAtMs) throw new Error("the ledger never showed what was awaited");
      await turn();
    }
  }

  /**
   * Makes one kind of write take seconds from now on, like a slow disk, so that a test can kill the process during it.
   */
  slowDown(write: ObstructedWrite): void {
    this.#db.exec(obstructionSql(write, "slow"));
  }

  /** Makes one kind of write fail from now on, as on a full disk. */
  failWrites(write: ObstructedWrite): void {
    this.#db.exec(obstructionSql(write, "failing"));
  }

  /** Makes all writes work again. */
  repair(): void {
    this.#db.exec(REMOVE_OBSTRUCTION_SQL);
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
  async freezeWhen(reached: (records: readonly LedgerRecord[]) => boolean, withinMs = 10_000): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    for (;;) {
      this.hold();
      if (reached(this.records())) return;
      this.release();
      if (performance.now() > giveUpAtMs) throw new Error("the ledger never came to the awaited point");
      await turn();
    }
  }

  close(): void {
    this.release();
    this.#db.close();
  }
}

/**
 * Looks into a ledger file from outside, and holds or obstructs its writes, so that its owners stand still or fail.
 * The one place where tests know the tables.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { systemClock } from "../../src/clock.ts";
import { createHolderId } from "../../src/holder.ts";
import { storedValue } from "../../src/ledger/keyv-options.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { flightOf, type TaskRecord, taskRecordSchema } from "../../src/ledger/record.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/sqlite-store.ts";
import { BUDGET_WINDOW_MS } from "../../src/limits/timing.ts";
import { createLog } from "../../src/log.ts";

const counted = z.object({ count: z.int() });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Writes that a test can make slow, or fail, each recognised by what it changes. */
const WRITES = {
  "any record": "INSERT ON records",
  "an admission": "INSERT ON slots WHEN new.limit_class = 'creates'",
  "a task id": "UPDATE ON records WHEN old.task_id IS NULL AND new.task_id IS NOT NULL",
  "the end of a task": "UPDATE ON records WHEN old.flight = 'accepted' AND new.flight IS NULL",
  "a saved file": "INSERT ON paths",
} as const;
type ObstructedWrite = keyof typeof WRITES;

/** Some seconds of counting. */
const SLOWLY = `SELECT (WITH RECURSIVE step(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < 30000000)
  SELECT count(*) FROM step);`;

export class LedgerPeek {
  readonly #db: DatabaseSync;
  readonly #ledger: Ledger;

  private constructor(db: DatabaseSync, ledger: Ledger) {
    this.#db = db;
    this.#ledger = ledger;
  }

  /**
   * Opens the ledger of a state folder, waiting until somebody has made it.
   *
   * @param origin the address of the service whose records are looked at, of all accounts
   */
  static async open(stateDir: string, origin: string, withinMs = 5000): Promise<LedgerPeek> {
    const file = join(stateDir, "ledger.sqlite");
    const giveUpAtMs = performance.now() + withinMs;
    while (!existsSync(file)) {
      if (performance.now() > giveUpAtMs) throw new Error("no ledger was made");
      await turn();
    }
    const log = createLog("silent", (text) => text);
    const identity = { origin, accountId: "nobody", holder: createHolderId() };
    const store = openSqliteStore({ stateDir, log, clock: systemClock, identity });
    const ledger = new Ledger(store, identity, systemClock, log);
    await ledger.list({ accounts: "all", limit: 1 });
    return new LedgerPeek(new DatabaseSync(file, { timeout: 5000 }), ledger);
  }

  /** Every record, newest first; of a task that two keys name, both. */
  async records(): Promise<TaskRecord[]> {
    const stored = await this.#ledger.store.list({ accounts: "all", limit: 1_000_000 });
    return stored.map(({ value }) => taskRecordSchema.parse(storedValue(value)));
  }

  /** Records that take a place in flight. */
  async inFlight(): Promise<number> {
    return (await this.records()).filter((record) => flightOf(record) !== null).length;
  }

  /** Creates that count toward the six a minute. */
  createSlots(): number {
    const row = this.#db.prepare("SELECT count(*) AS count FROM slots WHERE limit_class = 'creates'").get();
    return counted.parse(row).count;
  }

  /** Credits that the budget counts. */
  async countedCredits(): Promise<number> {
    return await this.#ledger.store.spentCredits(BUDGET_WINDOW_MS);
  }

  integrity(): string {
    return JSON.stringify(this.#db.prepare("PRAGMA integrity_check").all());
  }

  /** Waits, without a lock, until the ledger shows something. */
  async until(shown: (records: readonly TaskRecord[]) => boolean, withinMs = 10_000): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    while (!shown(await this.records())) {
      if (performance.now() > giveUpAtMs) throw new Error("the ledger never showed what was awaited");
      await turn();
    }
  }

  /** From now on one kind of write takes seconds, as on a disk that is very slow: time to be killed in its middle. */
  slowDown(write: ObstructedWrite): void {
    this.#obstruct(write, SLOWLY);
  }

  /** From now on one kind of write fails, as on a disk that is full. */
  breakDown(write: ObstructedWrite): void {
    this.#obstruct(write, "SELECT RAISE(ABORT, 'no room');");
  }

  /** Writes are as they were. */
  mend(): void {
    this.#db.exec("DROP TRIGGER IF EXISTS obstructed");
  }

  hold(): void {
    this.#db.exec("BEGIN IMMEDIATE");
  }

  release(): void {
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }

  /**
   * Lets the ledger's owners go on in very small steps until `reached`. From then on nobody can write, until
   * {@link release}: whoever wants to stands still just behind that point.
   */
  async freezeWhen(reached: (records: readonly TaskRecord[]) => boolean, withinMs = 10_000): Promise<void> {
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

  #obstruct(write: ObstructedWrite, how: string): void {
    this.#db.exec(`CREATE TRIGGER obstructed BEFORE ${WRITES[write]} BEGIN ${how} END`);
  }
}

/** The connection to the ledger file: opening on first use, transactions, retries. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setTimeout as pause, setImmediate as yieldToOthers } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { AudioError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { foreignFile, isBusy, otherLayout, storeFault } from "./faults.ts";
import { LEDGER_FILE_NAME, prepareLedgerFile } from "./ledger-file.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { APPLICATION_ID, SCHEMA_VERSION } from "./schema.ts";

/** How long SQLite itself waits for a lock, which blocks the whole process; what remains is waited for asleep. */
const BLOCKING_WAIT_MS = 100;
const LOCK_WAIT_MS = 5_000;

/** A disk that takes this long for a transaction stops the process for as long: then others get their turn in between. */
const SLOW_MS = 100;
/** And one this slow would not come to an end of merging its journal before the process has to stop. */
const TOO_SLOW_TO_MERGE_MS = 500;

const versionSchema = z.object({ user_version: z.int() });
const applicationSchema = z.object({ application_id: z.int() });

/** What may be asked inside a transaction. Rows come back unparsed; the asker parses them. */
export interface Session {
  all(sql: string, ...values: SQLInputValue[]): unknown[];
  get(sql: string, ...values: SQLInputValue[]): unknown;
  /** The number of rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
}

/**
 * `power_cut`: on the disk before the promise resolves. `process_kill`: survives the death of every process, and
 * reaches the disk with the next durable write; for what a restart of the machine makes worthless anyway.
 */
export type Durability = "power_cut" | "process_kill";

export interface DatabaseOptions {
  readonly stateDir: string;
  readonly log: Log;
  readonly clock: Clock;
}

class Connection implements Session {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #inode: number;
  readonly #statements = new Map<string, StatementSync>();
  #durability: Durability = "power_cut";

  constructor(options: DatabaseOptions) {
    const sqlite = loadSqlite();
    this.#file = prepareLedgerFile(sqlite, options.stateDir);
    this.#inode = statSync(this.#file).ino;
    this.#db = new sqlite.DatabaseSync(this.#file, { timeout: BLOCKING_WAIT_MS });
    try {
      const { application_id } = applicationSchema.parse(this.get("PRAGMA application_id"));
      if (application_id !== APPLICATION_ID) throw foreignFile(this.#file);
      const { user_version } = versionSchema.parse(this.get("PRAGMA user_version"));
      if (user_version !== SCHEMA_VERSION) throw otherLayout(this.#file);
      this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  all(sql: string, ...values: SQLInputValue[]): unknown[] {
    return this.#prepare(sql).all(...values);
  }

  get(sql: string, ...values: SQLInputValue[]): unknown {
    return this.#prepare(sql).get(...values);
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  /** Takes the write lock at the start: a lock taken later could only fail, never wait. */
  transact<T>(work: (session: Session) => T, durability: Durability): T {
    if (durability !== this.#durability) {
      this.#db.exec(`PRAGMA synchronous = ${durability === "power_cut" ? "FULL" : "NORMAL"}`);
      this.#durability = durability;
    }
    return this.#within("BEGIN IMMEDIATE", work);
  }

  snapshot<T>(work: (session: Session) => T): T {
    return this.#within("BEGIN", work);
  }

  #within<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", work: (session: Session) => T): T {
    this.#prepare(begin).run();
    try {
      const result = work(this);
      this.#prepare("COMMIT").run();
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#prepare("ROLLBACK").run();
      throw error;
    }
  }

  /** Whether the file was deleted or replaced under us: writing on would be writing to nobody. */
  isMoved(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.ino !== this.#inode;
  }

  close(): void {
    this.#db.close();
  }
}

/**
 * The ledger file. Every method opens it when it is not open, waits up to five seconds for other processes'
 * transactions, and fails with `store_unavailable`.
 */
export class LedgerDatabase {
  readonly file: string;
  readonly #options: DatabaseOptions;
  #connection: Connection | undefined;
  #isClosed = false;
  #slowestMs = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.file = join(options.stateDir, LEDGER_FILE_NAME);
  }

  /**
   * Runs `work` in one write transaction; it may run again after a lock, so it must change nothing else.
   *
   * @param durability or what tells it from the rows, just before the transaction begins
   */
  write<T>(
    work: (session: Session) => T,
    durability: Durability | ((session: Session) => Durability),
  ): Promise<T> {
    return this.#retrying((connection) =>
      connection.transact(work, typeof durability === "string" ? durability : durability(connection)),
    );
  }

  /** Runs `work` on one state of the file, for reads of several statements. */
  snapshot<T>(work: (session: Session) => T): Promise<T> {
    return this.#retrying((connection) => connection.snapshot(work));
  }

  /** Runs `work` without a transaction of its own: for single statements that only read. */
  read<T>(work: (session: Session) => T): Promise<T> {
    return this.#retrying(work);
  }

  /** On a very slow disk the file stays as it is: merging the journal would take seconds, and the next process does it. */
  close(): void {
    this.#isClosed = true;
    if (this.#slowestMs < TOO_SLOW_TO_MERGE_MS) this.#connection?.close();
    this.#connection = undefined;
  }

  #open(): Connection {
    if (this.#isClosed) throw new AudioError("store_unavailable", "The ledger was already closed.");
    if (this.#connection?.isMoved()) {
      this.#connection.close();
      this.#connection = undefined;
    }
    this.#connection ??= new Connection(this.#options);
    return this.#connection;
  }

  async #retrying<T>(work: (connection: Connection) => T): Promise<T> {
    const startedAtMs = performance.now();
    for (;;) {
      // A timer that ends the process in time must not starve behind transactions that follow each other.
      if (this.#slowestMs > SLOW_MS) await yieldToOthers();
      try {
        const connection = this.#open();
        const beganAtMs = performance.now();
        const result = work(connection);
        // The last one may need no flush, but closing the file needs several.
        this.#slowestMs = Math.max(this.#slowestMs, performance.now() - beganAtMs);
        return result;
      } catch (error) {
        const waitedMs = performance.now() - startedAtMs;
        if (!isBusy(error) || waitedMs >= LOCK_WAIT_MS) throw storeFault(this.file, error);
        // A timer that keeps the process alive, unlike the clock's: a write under way must not be cut off.
        await pause(2 + Math.random() * 20);
      }
    }
  }
}

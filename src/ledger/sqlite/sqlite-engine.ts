/** The ledger in a SQLite file. Opens the file on first use, runs transactions, and waits for other processes. */
import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as pause, setImmediate as yieldToOthers } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { AudioError } from "../../errors.ts";
import type { Durability } from "../rules/durability.ts";
import { SCHEMA_VERSION } from "../store/schema.ts";
import { type Rows, type SqlEngine, type Statement, sql, type Transaction } from "../store/sql-engine.ts";
import { APPLICATION_ID, prepareLedgerFile } from "./ledger-file.ts";
import { buildLedgerPath } from "./ledger-path.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { foreignFileError, isBusy, otherSqliteSchemaError, sqliteError } from "./sqlite-errors.ts";
import { findFolderWarnings } from "./unsafe-folder.ts";

/**
 * How long SQLite itself waits for a lock. This wait blocks the whole process. To wait longer, the engine sleeps
 * between tries.
 */
const BLOCKING_WAIT_MS = 100;
const LOCK_WAIT_MS = 5_000;

/**
 * How long a transaction may take before it counts as slow. After a slow transaction, the engine lets timers and other
 * work run before each further transaction, because a transaction blocks the process.
 */
const SLOW_MS = 100;
/**
 * If a transaction has taken this long, the journal is not merged at exit. On such a slow disk, merging would take
 * longer than a process has for its exit.
 */
const TOO_SLOW_TO_MERGE_MS = 500;

const headerSchema = z.object({ application_id: z.int().optional(), user_version: z.int().optional() });

export interface SqliteEngineOptions {
  readonly stateDir: string;
  readonly clock: Pick<Clock, "steadyMs">;
}

class Connection {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #inode: number;
  readonly #steadyMs: () => number;
  readonly #statements = new Map<string, StatementSync>();
  #durability: Durability = "survives_power_cut";

  constructor({ stateDir, clock }: SqliteEngineOptions) {
    const sqlite = loadSqlite();
    this.#steadyMs = () => clock.steadyMs();
    this.#file = prepareLedgerFile(sqlite, stateDir);
    this.#inode = statSync(this.#file).ino;
    this.#db = new sqlite.DatabaseSync(this.#file, { timeout: BLOCKING_WAIT_MS });
    try {
      const header = (pragma: string) => headerSchema.parse(this.#prepare(`PRAGMA ${pragma}`).get());
      if (header("application_id").application_id !== APPLICATION_ID) throw foreignFileError(this.#file);
      const { user_version } = header("user_version");
      if (user_version !== SCHEMA_VERSION) throw otherSqliteSchemaError(this.#file);
      this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  transact<T>({ durability, locks, loadStatements, decide }: Transaction<T>): T {
    if (durability !== this.#durability) {
      this.#db.exec(`PRAGMA synchronous = ${durability === "survives_power_cut" ? "FULL" : "NORMAL"}`);
      this.#durability = durability;
    }
    // Take the write lock at the start, because SQLite cannot wait for a lock that is taken later.
    return this.#runInTransaction("BEGIN IMMEDIATE", () => {
      const locked = this.#all(locks);
      // Read the clock inside the transaction. An earlier reading could be older than the dates that another process
      // has just written.
      const steadyMs = this.#steadyMs();
      const { result, saveStatements } = decide({ locked, loaded: this.#all(loadStatements), steadyMs });
      for (const statement of saveStatements) this.#prepare(statement.sql).run(...statement.values);
      return result;
    });
  }

  read(statements: readonly Statement[]): Rows[] {
    return statements.length > 1
      ? this.#runInTransaction("BEGIN", () => this.#all(statements))
      : this.#all(statements);
  }

  /** Whether the file was deleted or replaced after it was opened. If so, writes to the open file would be lost. */
  isMoved(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.ino !== this.#inode;
  }

  close(): void {
    this.#db.close();
  }

  #all(statements: readonly Statement[]): Rows[] {
    return statements.map((statement) => this.#prepare(statement.sql).all(...statement.values));
  }

  #runInTransaction<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T): T {
    this.#prepare(begin).run();
    try {
      const result = work();
      this.#prepare("COMMIT").run();
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#prepare("ROLLBACK").run();
      throw error;
    }
  }

  #prepare(text: string): StatementSync {
    const cachedStatement = this.#statements.get(text);
    if (cachedStatement !== undefined) return cachedStatement;
    const statement = this.#db.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

/**
 * Runs the ledger's transactions in a SQLite file, which the first call opens or creates. Each transaction blocks the
 * process until it ends. While another process locks the file, a call is repeated for up to 5 s. Then the call throws
 * AudioError `store_unavailable`.
 *
 * If the open file was deleted or replaced, the next call opens the file that now has its path, or creates a new one.
 */
export class SqliteEngine implements SqlEngine {
  readonly forUpdate = "";
  /** Always `null`, because SQLite answers or fails synchronously. */
  readonly outage = null;
  readonly description: string;
  readonly #file: string;
  readonly #options: SqliteEngineOptions;
  #connection: Connection | undefined;
  #isClosed = false;
  #slowestMs = 0;

  constructor(options: SqliteEngineOptions) {
    this.#options = options;
    this.#file = buildLedgerPath(options.stateDir);
    this.description = `SQLite file ${this.#file}`;
  }

  transact<T>(transaction: Transaction<T>): Promise<T> {
    return this.#runWithRetries((connection) => connection.transact(transaction));
  }

  read(statements: readonly Statement[]): Promise<Rows[]> {
    return this.#runWithRetries((connection) => connection.read(statements));
  }

  async check(): Promise<string[]> {
    const deleteStatements = [sql("DELETE FROM agm_documents WHERE name = ?", "check")];
    await this.transact({
      durability: "survives_process_kill",
      locks: [],
      loadStatements: [],
      decide: () => ({
        result: undefined,
        saveStatements: [
          sql("INSERT INTO agm_documents (name, value) VALUES (?, '') ON CONFLICT DO NOTHING", "check"),
          ...deleteStatements,
        ],
      }),
    });
    return findFolderWarnings(this.#options.stateDir);
  }

  /**
   * Closes the database. SQLite then merges the journal. If the disk is very slow, leaves the database open. The next
   * process then merges the journal.
   */
  async close(): Promise<void> {
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

  async #runWithRetries<T>(work: (connection: Connection) => T): Promise<T> {
    const startedAtMs = performance.now();
    for (;;) {
      // After a slow transaction, let timers run before the next one, because the timer that forces the process to exit
      // must not be late.
      if (this.#slowestMs > SLOW_MS) await yieldToOthers();
      try {
        const connection = this.#open();
        const beganAtMs = performance.now();
        const result = work(connection);
        // Keep the longest duration, not the last one. The longest shows how long a flush to the disk takes, and
        // closing the file needs several flushes. The last transaction may have needed no flush.
        this.#slowestMs = Math.max(this.#slowestMs, performance.now() - beganAtMs);
        return result;
      } catch (error) {
        const waitedMs = performance.now() - startedAtMs;
        if (!isBusy(error) || waitedMs >= LOCK_WAIT_MS) throw sqliteError(this.#file, error);
        // Use Node's own timer, because it keeps the process alive for the next try. The timers of `Clock` would let
        // the process exit.
        await pause(2 + Math.random() * 20);
      }
    }
  }
}

/** The ledger in a SQLite file. Opens the file on first use, and again if the file was deleted or replaced. */
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { DatabaseFailure, Engine } from "../engine.ts";
import { buildLedgerPath } from "./ledger-path.ts";
import { SqliteConnection, type SqliteOptions } from "./sqlite-connection.ts";
import { describeSqliteFailure, isBusy, sqliteError } from "./sqlite-errors.ts";
import { findFolderWarnings } from "./unsafe-folder.ts";

/**
 * How long a statement may take before it counts as slow. After a slow statement, the engine lets timers and other work
 * run before each further call, because a statement blocks the process.
 */
const SLOW_MS = 100;
/**
 * If a statement has taken this long, the journal is not merged at exit. On such a slow disk, merging would take longer
 * than a process has for its exit.
 */
const TOO_SLOW_TO_MERGE_MS = 500;

export class SqliteEngine implements Engine {
  readonly dialect = "sqlite";
  readonly locksRows = false;
  readonly description: string;
  readonly clockSql = null;
  readonly silenceError = null;
  readonly minPauseMs = 4;
  readonly #file: string;
  readonly #options: SqliteOptions;
  #connection: SqliteConnection | undefined;

  constructor(options: SqliteOptions) {
    this.#options = options;
    this.#file = buildLedgerPath(options.stateDir);
    this.description = `SQLite file ${this.#file}`;
  }

  async connect(): Promise<SqliteConnection> {
    // The timer that forces the process to exit must not be late.
    if (this.#connection !== undefined && this.#connection.slowestMs > SLOW_MS) await yieldToOthers();
    try {
      if (this.#connection?.isMoved()) this.#connection.close();
      if (this.#connection?.isLost) this.#connection = undefined;
      this.#connection ??= new SqliteConnection(this.#options);
      return this.#connection;
    } catch (error) {
      // The database repeats the call after the busy error itself.
      throw isBusy(error) ? error : sqliteError(this.#file, error);
    }
  }

  describeFailure(error: unknown): DatabaseFailure | null {
    return describeSqliteFailure(this.#file, error);
  }

  async findWarnings(): Promise<string[]> {
    return findFolderWarnings(this.#options.stateDir);
  }

  /**
   * Closes the file. SQLite then merges the journal. If the disk is very slow, leaves the file open. The next process
   * then merges the journal.
   */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined && connection.slowestMs < TOO_SLOW_TO_MERGE_MS && !connection.isLost)
      connection.close();
  }
}

/** Loads SQLite, and opens a connection to the ledger's file. A statement blocks the process until it ends. */
import { statSync } from "node:fs";
import type * as NodeSqlite from "node:sqlite";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import type { Connection, Statement, StatementResult, TransactionKind } from "../engine.ts";
import { SCHEMA_VERSION } from "../schema.ts";
import { APPLICATION_ID, prepareLedgerFile } from "./ledger-file.ts";
import { foreignFileError, otherSqliteSchemaError } from "./sqlite-errors.ts";

/**
 * How long SQLite itself waits for a lock. This wait blocks the whole process. To wait longer, the database sleeps
 * between tries.
 */
const BLOCKING_WAIT_MS = 10;

/**
 * Number of statements that stay prepared, because other processes wait for the lock while a statement is prepared.
 * Lists of values of different lengths make different statements.
 */
const MAX_PREPARED = 200;

const headerSchema = z.object({ application_id: z.int().optional(), user_version: z.int().optional() });

interface PreparedStatement {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

export interface SqliteOptions {
  readonly stateDir: string;
  readonly clock: Pick<Clock, "steadyMs">;
}

export class SqliteConnection implements Connection {
  isLost = false;
  nowSteadyMs = 0;
  /**
   * The duration of the slowest statement, in milliseconds. It shows how long a flush to the disk takes. The newest
   * statement may have needed no flush.
   */
  slowestMs = 0;
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #inode: number;
  readonly #clock: Pick<Clock, "steadyMs">;
  /** By SQL text, the least recently used first. */
  readonly #prepared = new Map<string, PreparedStatement>();

  /**
   * Opens the ledger file, and creates it if it is missing.
   *
   * @throws AudioError `store_unavailable` for a file that this program cannot use. Errors of SQLite and of the file
   *   system are thrown unchanged
   */
  constructor({ stateDir, clock }: SqliteOptions) {
    const sqlite = loadSqlite();
    this.#clock = clock;
    this.#file = prepareLedgerFile(sqlite, stateDir);
    this.#inode = statSync(this.#file).ino;
    this.#db = new sqlite.DatabaseSync(this.#file, { timeout: BLOCKING_WAIT_MS });
    try {
      const header = (pragma: string) => headerSchema.parse(this.#db.prepare(`PRAGMA ${pragma}`).get());
      if (header("application_id").application_id !== APPLICATION_ID) throw foreignFileError(this.#file);
      const { user_version } = header("user_version");
      if (user_version !== SCHEMA_VERSION) throw otherSqliteSchemaError(this.#file);
      this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Whether the file was deleted or replaced after it was opened. If so, writes to the open file would be lost. */
  isMoved(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.ino !== this.#inode;
  }

  async execute({ sql, values }: Pick<Statement, "sql" | "values">): Promise<StatementResult> {
    const beganAtMs = performance.now();
    try {
      const { statement, returnsRows } = this.#prepare(sql);
      if (returnsRows) return { rows: statement.all(...values), changedRows: null };
      return { rows: [], changedRows: Number(statement.run(...values).changes) };
    } finally {
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganAtMs);
    }
  }

  async begin(kind: TransactionKind): Promise<void> {
    if (kind === "write") {
      // Take the write lock at the start, because SQLite cannot wait for a lock that is taken later.
      await this.#run("BEGIN IMMEDIATE");
    } else {
      await this.#run("BEGIN");
      // SQLite takes the snapshot with the first read, not with BEGIN.
      await this.#run("SELECT 1 FROM sqlite_schema LIMIT 1");
    }
    // Read the clock inside the transaction. An earlier reading could be older than the dates that another process has
    // just written.
    this.nowSteadyMs = this.#clock.steadyMs();
  }

  async commit(): Promise<void> {
    await this.#run("COMMIT");
  }

  async rollBack(): Promise<void> {
    if (this.isLost || !this.#db.isTransaction) return;
    await this.#run("ROLLBACK").catch(() => this.close());
  }

  close(): void {
    this.isLost = true;
    this.#db.close();
  }

  #run(sql: string): Promise<StatementResult> {
    return this.execute({ sql, values: [] });
  }

  #prepare(sql: string): PreparedStatement {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      const statement = this.#db.prepare(sql);
      prepared = { statement, returnsRows: statement.columns().length > 0 };
      for (const oldest of this.#prepared.keys()) {
        if (this.#prepared.size < MAX_PREPARED) break;
        this.#prepared.delete(oldest);
      }
    } else {
      this.#prepared.delete(sql);
    }
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

/**
 * Returns Node's SQLite module. Node 22 prints a warning on stderr when the module is first loaded, and users take the
 * warning for a bug of this program. Only this warning is dropped. Loading is synchronous, so no other code runs while
 * warnings are filtered.
 *
 * @throws Error if this Node was built without SQLite
 */
export function loadSqlite(): typeof NodeSqlite {
  const original = process.emitWarning;
  const filtered = (...args: unknown[]): void => {
    const [warning, options] = args;
    const text = warning instanceof Error ? warning.message : String(warning);
    const isExperimental =
      options === "ExperimentalWarning" || JSON.stringify(options)?.includes("Experimental");
    if (isExperimental && text.startsWith("SQLite is an experimental feature")) return;
    Reflect.apply(original, process, args);
  };
  process.emitWarning = filtered;
  try {
    const sqlite = process.getBuiltinModule("node:sqlite");
    if (sqlite === undefined) throw new Error("this Node.js was built without SQLite");
    return sqlite;
  } finally {
    process.emitWarning = original;
  }
}

/** The interface between the ledger's database and its engines, SQLite and PostgreSQL. */
import type { AudioError } from "../errors.ts";

export type SqlValue = string | number | null;

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** Whether the statement only reads, so that it needs no transaction and takes no lock. */
  readonly isRead: boolean;
}

export interface StatementResult {
  readonly rows: readonly unknown[];
  /** `null` if the statement returns rows instead. */
  readonly changedRows: number | null;
}

/** `write` locks what it changes, `snapshot` only reads and sees no change that others commit meanwhile. */
export type TransactionKind = "write" | "snapshot";

/** An open connection. Its database uses it for one call at a time. */
export interface Connection {
  /** Whether the connection broke. The engine then opens another one. */
  readonly isLost: boolean;
  /** The steady time at the start of the transaction, in milliseconds. */
  readonly nowSteadyMs: number;
  execute(statement: Statement): Promise<StatementResult>;
  /** Begins a transaction, and reads the steady time in it. */
  begin(kind: TransactionKind): Promise<void>;
  commit(): Promise<void>;
  /** Ends an open transaction, so that the connection can be used again. Never fails: it drops the connection instead. */
  rollBack(): Promise<void>;
}

/** What an error of the database means for the call that met it. */
export interface DatabaseFailure {
  readonly error: AudioError;
  /** Whether the same work may succeed if it is repeated within seconds. */
  readonly isTransient: boolean;
  /** Whether the database gave no answer in time. */
  readonly isSilence: boolean;
}

export interface Engine {
  /** The language of its statements, which `kysely-driver.ts` builds. */
  readonly dialect: "sqlite" | "postgres";
  /** Whether transactions lock rows one by one; false if a write transaction has locked all of them. */
  readonly locksRows: boolean;
  /** Names the database for a person; never contains credentials. */
  readonly description: string;
  /** An SQL expression for the steady time in milliseconds; `null` if the process reads the clock itself. */
  readonly clockSql: (() => string) | null;
  /** The error of a database that does not answer; `null` if the database is in this process and always answers. */
  readonly silenceError: AudioError | null;
  /** The shortest pause before another try. */
  readonly minPauseMs: number;
  /**
   * Returns the open connection, or opens one.
   *
   * @param untilMs when the caller stops waiting, on the clock of `performance`. It holds for the connection's
   *   statements, too
   * @throws AudioError `store_unavailable`, or an error that `describeFailure` describes
   */
  connect(untilMs: number): Promise<Connection>;
  /** Describes an error of the database; returns `null` for an error that has another source. */
  describeFailure(error: unknown): DatabaseFailure | null;
  /** Returns whole sentences about problems that do not prevent use but should be fixed. */
  findWarnings(connection: Connection): Promise<string[]>;
  close(): Promise<void>;
}

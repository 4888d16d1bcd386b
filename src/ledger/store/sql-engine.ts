/**
 * The interface to a SQL database: plain reads, and transactions. A transaction loads rows, decides in a pure function
 * what to change, and saves the changes.
 */
import type { AudioError } from "../../errors.ts";
import type { Durability } from "../rules/durability.ts";

export type SqlValue = string | number | null;

export interface Statement {
  /** One SQL statement, with `?` for each value. */
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The rows of one statement, not parsed yet. */
export type Rows = readonly unknown[];

/** The rows that a transaction has read, in the order of its statements. */
export interface TransactionReads {
  readonly locked: readonly Rows[];
  readonly loaded: readonly Rows[];
  /** The time after the locks were taken, on a steady clock that all users of the database share. */
  readonly steadyMs: number;
}

/**
 * The engine may run a transaction again after a lost connection, even if the first commit took effect. So `decide`
 * must be pure, and must recognise changes that the first run has already made.
 */
export interface Transaction<T> {
  readonly durability: Durability;
  /** Statements that take locks. They run first, in the order of the list. */
  readonly locks: readonly Statement[];
  readonly loadStatements: readonly Statement[];
  decide(facts: TransactionReads): { readonly result: T; readonly saveStatements: readonly Statement[] };
}

/**
 * Every method opens the database if it is not open. A method that cannot use the database fails with
 * `store_unavailable` within seconds.
 */
export interface SqlEngine {
  /** Appended to a SELECT to lock its rows; empty where a transaction locks the whole database. */
  readonly forUpdate: "" | " FOR UPDATE";
  /** Names the database for a person; never contains credentials. */
  readonly description: string;
  /** The error of a database that has left callers without an answer for unusually long; `null` otherwise. */
  readonly outage: AudioError | null;
  transact<T>(transaction: Transaction<T>): Promise<T>;
  /** Runs statements that only read. All of them read the same snapshot of the database. */
  read(statements: readonly Statement[]): Promise<Rows[]>;
  /**
   * Writes and deletes a test entry.
   *
   * @returns whole sentences about problems that do not prevent use but should be fixed
   */
  check(): Promise<string[]>;
  close(): Promise<void>;
}

/** Builds a statement. Each `?` in `text` stands for one of the values, in the same order. */
export const sql = (text: string, ...values: SqlValue[]): Statement => ({ sql: text, values });

/** The interface to a SQL database: reads, and transactions of one load, one pure decision and one save. */
import type { AudioError } from "../../errors.ts";
import type { Durability } from "../rules/durability.ts";

export type SqlValue = string | number | null;

export interface Statement {
  /** One statement, its values marked by `?`. */
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The rows of one statement, not parsed yet. */
export type Rows = readonly unknown[];

/** The rows that a transaction has read, in the order of its statements. */
export interface Facts {
  readonly locked: readonly Rows[];
  readonly loaded: readonly Rows[];
  /** The steady clock that the database's users share, read after the locks were taken. */
  readonly steadyMs: number;
}

/**
 * A transaction may run again after a lost connection, even when its commit took effect. So `decide` must be pure,
 * and must recognise its own earlier work.
 */
export interface Transaction<T> {
  readonly durability: Durability;
  /** Run before everything else; they take their locks in the order of the list. */
  readonly locks: readonly Statement[];
  readonly load: readonly Statement[];
  decide(facts: Facts): { readonly result: T; readonly save: readonly Statement[] };
}

/** Every method opens the database when it is not open, and fails with `store_unavailable` within seconds. */
export interface SqlEngine {
  /** Appended to a SELECT to lock its rows; empty where a transaction locks the whole database. */
  readonly forUpdate: "" | " FOR UPDATE";
  /** Where the database is, for a person; never with credentials. */
  readonly description: string;
  /** Why the database keeps somebody waiting now; `null` where nobody waits, or for no unusual time. */
  readonly trouble: AudioError | null;
  transact<T>(transaction: Transaction<T>): Promise<T>;
  /** Runs statements that only read, all on one state of the database. */
  read(statements: readonly Statement[]): Promise<Rows[]>;
  /**
   * Writes something.
   *
   * @returns what works but should be changed, in whole sentences
   */
  check(): Promise<string[]>;
  close(): Promise<void>;
}

export const sql = (text: string, ...values: SqlValue[]): Statement => ({ sql: text, values });

/** A transaction of the ledger as its queries pass it on: the statements, who asks, and the time. */
import type { Lease, Tx } from "./database.ts";
import type { Ledger } from "./ledger.ts";

/** A transaction that runs, and the steady time by which it judges leases. */
export interface OpenTransaction {
  readonly tx: Tx;
  readonly ledger: Ledger;
  readonly nowSteadyMs: number;
}

type Work<T> = (open: OpenTransaction) => Promise<T>;

/** Runs a write transaction as {@link Database.tx} does. */
export const runTransaction = <T>(ledger: Ledger, work: Work<T>): Promise<T> =>
  ledger.database.tx((tx, nowSteadyMs) => work({ tx, ledger, nowSteadyMs }));

/** Runs reads of one snapshot as {@link Database.snapshot} does. */
export const runSnapshot = <T>(ledger: Ledger, work: Work<T>): Promise<T> =>
  ledger.database.snapshot((tx, nowSteadyMs) => work({ tx, ledger, nowSteadyMs }));

/** Whether a living process holds the lease of a request or a narration. */
export const isHeld = ({ ledger, nowSteadyMs }: OpenTransaction, lease: Lease): boolean =>
  ledger.database.isHeld(lease, nowSteadyMs);

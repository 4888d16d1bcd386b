/** Stands before a ledger's database: a test sees each use of it, and may hold it back or let it fail. */
import { AudioError } from "../../src/errors.ts";
import type { Database } from "../../src/ledger/database.ts";

/** `run` for single statements, `tx` and `snapshot` for transactions. */
export type DatabaseUse = "run" | "tx" | "snapshot";

const isUse = (name: string | symbol): name is DatabaseUse =>
  name === "run" || name === "tx" || name === "snapshot";

/** @param gate stands for each use: calls `pass` to let it happen, and answers as `pass` did, or throws */
export const withGate = (
  database: Database,
  gate: (use: DatabaseUse, pass: () => Promise<unknown>) => Promise<unknown>,
): Database =>
  new Proxy(database, {
    get(inner, name) {
      const member: unknown = Reflect.get(inner, name, inner);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const pass = (): unknown => Reflect.apply(member, inner, args);
        return isUse(name) ? gate(name, async () => await pass()) : pass();
      };
    },
  });

/** What a database answers that is away. */
export const ledgerAwayError = (): AudioError =>
  new AudioError("store_unavailable", "The database is away, as the test wants it.", { retryable: true });

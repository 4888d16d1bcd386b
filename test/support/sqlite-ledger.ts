/** Opens a ledger in a SQLite file, as the program does. */
import type { Clock } from "../../src/clock.ts";
import { SqliteEngine } from "../../src/ledger/sqlite/sqlite-engine.ts";
import { type LedgerIdentity, LedgerStore } from "../../src/ledger/store/ledger-store.ts";

export function openSqliteStore({
  stateDir,
  clock,
  identity,
}: {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly identity: LedgerIdentity;
}): LedgerStore {
  const engine = new SqliteEngine({ stateDir, clock });
  return new LedgerStore({ engine, identity, machineId: "this", wallMs: () => clock.wallMs() });
}

/** Opens the store that the configuration names; loads the chosen side alone, on first use. */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { LedgerIdentity, LedgerStore } from "./ledger-store.ts";
import { machineId } from "./machine-id.ts";

export interface StoreOptions {
  readonly stateDir: string;
  /** `redis://` or `rediss://`; `null`: a SQLite file in `stateDir`. */
  readonly storeUrl: string | null;
  readonly log: Log;
  readonly clock: Clock;
  readonly identity: LedgerIdentity;
}

/** Nothing is opened yet: the first use does, and reports what is wrong. */
export async function openStore(options: StoreOptions): Promise<LedgerStore> {
  const { stateDir, storeUrl, log, clock, identity } = options;
  if (storeUrl === null) {
    const { openSqliteStore } = await import("./sqlite/sqlite-store.ts");
    return openSqliteStore({ stateDir, log, clock, identity });
  }
  const { openRedisStore } = await import("./redis/redis-store.ts");
  return openRedisStore({ storeUrl, log, clock, identity, machineId: await machineId(stateDir) });
}

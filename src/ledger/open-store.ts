/** Owns the choice of the store; loads the chosen side alone, on first use. */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  readonly stateDir: string;
  /** `redis://` or `rediss://`; `null`: a SQLite file in `stateDir`. */
  readonly storeUrl: string | null;
  readonly log: Log;
  readonly clock: Clock;
}

/** The store that the configuration names. Nothing is opened yet: the first use does, and reports what is wrong. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { stateDir, storeUrl, log, clock } = options;
  if (storeUrl === null) {
    const { openSqliteStore } = await import("./sqlite/sqlite-store.ts");
    return openSqliteStore({ stateDir, log, clock });
  }
  const { openRedisStore } = await import("./redis/redis-store.ts");
  return openRedisStore({ storeUrl, log, clock });
}

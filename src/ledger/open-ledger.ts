/** Opens the ledger that the settings name, for the account that they name. */
import type { Clock } from "../clock.ts";
import type { Config, ServiceAddress } from "../config/config.ts";
import { AudioError } from "../errors.ts";
import type { HolderId } from "../holder.ts";
import type { Log } from "../log.ts";
import { accountFingerprint, accountId } from "./identity.ts";
import { Ledger } from "./ledger.ts";
import type { LedgerIdentity, LedgerStore } from "./ledger-store.ts";
import { machineId } from "./machine-id.ts";

export interface LedgerOptions {
  readonly config: Pick<Config, "stateDir" | "storeUrl"> & { readonly timeScale?: number };
  readonly address: Pick<ServiceAddress, "baseUrl" | "apiKey">;
  readonly holder: HolderId;
  readonly log: Log;
  readonly clock: Clock;
}

/** Nothing is connected or created yet: the first use does that, and reports what is wrong. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { config, address, holder, clock, log } = options;
  const origin = address.baseUrl;
  const account = accountId(origin, accountFingerprint(address.apiKey));
  const identity = { origin, accountId: account, holder };
  return new Ledger(await openStore(options, identity), identity, clock, log, config.timeScale);
}

/** The chosen side alone is loaded. `storeUrl` of `null`: a SQLite file in the state folder. */
async function openStore(
  { config: { stateDir, storeUrl }, log, clock }: LedgerOptions,
  identity: LedgerIdentity,
): Promise<LedgerStore> {
  if (storeUrl === null) {
    if (stateDir === null) {
      throw new AudioError("configuration_error", "AUDIO_STATE_DIR is not set, and there is no default.");
    }
    const { openSqliteStore } = await import("./sqlite/sqlite-store.ts");
    return openSqliteStore({ stateDir, log, clock, identity });
  }
  const { openRedisStore } = await import("./redis/redis-store.ts");
  return openRedisStore({ storeUrl, log, clock, identity, machineId: await machineId(stateDir) });
}

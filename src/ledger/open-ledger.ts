/** Opens the ledger for the settings' store and API key. */
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ProcessId } from "../process-id.ts";
import { deriveApiKeyHash, deriveApiKeyId } from "./identity.ts";
import { Ledger } from "./ledger.ts";
import { loadOrCreateMachineId } from "./machine-id.ts";
import { LedgerStore } from "./store/ledger-store.ts";
import type { SqlEngine } from "./store/sql-engine.ts";

/**
 * The machine id in a ledger file. Only one machine uses the file, so every API key in the file belongs to that
 * machine.
 */
const SINGLE_MACHINE_ID = "this";

export interface LedgerOptions {
  readonly config: Pick<Config, "stateDir" | "storeUrl"> & { readonly timeScale?: number };
  readonly serviceAccess: Pick<ServiceAccess, "baseUrl" | "apiKey">;
  readonly processId: ProcessId;
  readonly log: Log;
  readonly clock: Clock;
}

/** Creates the ledger without opening the store. The first use of the ledger opens the store, and reports errors. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { config, serviceAccess, processId, clock, log } = options;
  const { stateDir, storeUrl, timeScale } = config;
  const baseUrl = serviceAccess.baseUrl;
  const identity = {
    baseUrl,
    apiKeyId: deriveApiKeyId(baseUrl, deriveApiKeyHash(serviceAccess.apiKey)),
    processId,
  };
  const store = new LedgerStore({
    engine: await openEngine(options),
    identity,
    machineId: storeUrl === null ? SINGLE_MACHINE_ID : await loadOrCreateMachineId(stateDir),
    wallMs: () => clock.wallMs(),
  });
  return new Ledger(store, identity, clock, log, timeScale);
}

/** Creates the engine that the settings choose. Imports only the module of this engine. */
export async function openEngine({
  config: { stateDir, storeUrl },
  log,
  clock,
}: Pick<LedgerOptions, "config" | "log" | "clock">): Promise<SqlEngine> {
  if (storeUrl !== null) {
    const { PostgresEngine } = await import("./postgres/postgres-engine.ts");
    return new PostgresEngine({ storeUrl, log });
  }
  if (stateDir === null) {
    throw new AudioError("configuration_error", "AUDIO_STATE_DIR is not set, and there is no default.");
  }
  const { SqliteEngine } = await import("./sqlite/sqlite-engine.ts");
  return new SqliteEngine({ stateDir, clock });
}

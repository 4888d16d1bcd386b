/** Opens the ledger for the settings' store and API key. */
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import type { Log } from "../log.ts";
import type { ProcessId } from "../process-id.ts";
import { openDatabase } from "./database.ts";
import { deriveApiKeyHash, deriveApiKeyId } from "./identity.ts";
import type { Ledger } from "./ledger.ts";
import { loadOrCreateMachineId } from "./machine-id.ts";

/** The machine id in a ledger file: only one machine uses it, so every API key in it belongs to that machine. */
const SINGLE_MACHINE_ID = "this";

export interface LedgerOptions {
  readonly config: Pick<Config, "stateDir" | "storeUrl"> &
    Partial<Pick<Config, "timeScale" | "creditBudget">>;
  readonly serviceAccess: Pick<ServiceAccess, "baseUrl" | "apiKey">;
  readonly processId: ProcessId;
  readonly log: Log;
  readonly clock: Clock;
}

/** Creates the ledger without opening its database. The first use opens it, and reports errors. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { config, serviceAccess, processId, clock, log } = options;
  const { stateDir, storeUrl, timeScale = 1, creditBudget = null } = config;
  const { baseUrl, apiKey } = serviceAccess;
  return {
    database: await openDatabase({ config: { stateDir, storeUrl, timeScale }, log, clock }),
    identity: {
      baseUrl,
      apiKeyId: deriveApiKeyId(baseUrl, deriveApiKeyHash(apiKey)),
      processId,
      machineId: storeUrl === null ? SINGLE_MACHINE_ID : await loadOrCreateMachineId(stateDir),
    },
    clock,
    log,
    timeScale,
    creditBudget,
  };
}

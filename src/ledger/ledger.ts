/** Defines what all queries of the ledger share: the database, who asks, and which rows it may see. */
import { type RawBuilder, sql } from "kysely";
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ProcessId } from "../process-id.ts";
import type { Database, Db } from "./database.ts";
import type { ApiKeyId } from "./identity.ts";

export interface LedgerIdentity {
  readonly baseUrl: string;
  readonly apiKeyId: ApiKeyId;
  readonly processId: ProcessId;
  /** This machine sees the rows of every API key that it has used. */
  readonly machineId: string;
}

export interface Ledger {
  readonly database: Database;
  readonly identity: LedgerIdentity;
  readonly clock: Clock;
  readonly log: Log;
  /** Multiplies limit windows, cooldowns and leases; 1 outside tests. */
  readonly timeScale: number;
  /** The most credits that may be reserved or charged in any 24 hours; `null` without a budget. */
  readonly creditBudget: number | null;
}

/** Thrown by a write of a process that no longer drives the row. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
}

/** Whether an error says that the ledger cannot be read or written now. It may come back. */
export const isAway = (error: unknown): boolean =>
  error instanceof AudioError && error.code === "store_unavailable";

/** Whether this process may see a row: it is of its own API key, or of one that this machine has used. */
export function isVisible({ identity }: Ledger, apiKeyColumn: string): RawBuilder<boolean> {
  const column = sql.ref(apiKeyColumn);
  return sql<boolean>`(${column} = ${identity.apiKeyId} OR EXISTS (SELECT 1 FROM agm_machine_key known
    WHERE known.machine_id = ${identity.machineId} AND known.api_key_id = ${column}))`;
}

/** Lists the API keys whose rows this process may see, its own first. */
export async function listVisibleApiKeys(db: Db, { identity }: Ledger): Promise<ApiKeyId[]> {
  const known = await db
    .selectFrom("agm_machine_key")
    .select("api_key_id")
    .where("machine_id", "=", identity.machineId)
    .execute();
  return [...new Set([identity.apiKeyId, ...known.map((row) => row.api_key_id)])];
}

/** Notes that this machine has used the API key, so that its rows stay visible under a later one. */
export async function rememberApiKey(db: Db, { identity }: Ledger): Promise<void> {
  await db
    .insertInto("agm_machine_key")
    .values({ machine_id: identity.machineId, api_key_id: identity.apiKeyId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

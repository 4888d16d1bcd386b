/** Defines which rows of the ledger an API key sees on a machine. */
import type { ApiKeyId } from "../identity.ts";
import { type Statement, sql } from "./sql-engine.ts";

/**
 * Which part of the ledger a process sees: the entries of its own API key, and of all other keys that its machine has
 * used.
 */
export interface LedgerScope {
  readonly baseUrl: string;
  readonly apiKeyId: ApiKeyId;
  readonly machineId: string;
}

/**
 * Returns the SQL condition for visible rows: those of the current API key and of all other API keys that this machine
 * has used. The condition has two parameters: API key id and machine id.
 */
export const buildVisibleCondition = (
  table: string,
): string => `(${table}.api_key_id = ? OR EXISTS (SELECT 1 FROM agm_machine_keys m
  WHERE m.machine_id = ? AND m.api_key_id = ${table}.api_key_id))`;

/**
 * Records that this machine has used an API key. If the settings later name another API key, the records and narrations
 * of this API key stay visible.
 */
export const buildSaveMachineKeyStatement = ({ apiKeyId, machineId }: LedgerScope): Statement =>
  sql(
    "INSERT INTO agm_machine_keys (machine_id, api_key_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
    machineId,
    apiKeyId,
  );

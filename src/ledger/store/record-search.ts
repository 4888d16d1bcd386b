/** Searches the records of the API key, and of all other API keys that this machine has used. */
import { z } from "zod";
import { isResumableStatus, RECORD_STATUSES, type RecordStatus } from "../record.ts";
import { buildVisibleCondition, type LedgerScope } from "./ledger-scope.ts";
import { parseRecordJsonRows, type RecordJsonRow } from "./record-rows.ts";
import { type Rows, type SqlEngine, sql } from "./sql-engine.ts";

export interface ListQuery {
  /**
   * `own`: lists this API key's records. `all`: also lists records of other keys that this machine has used at the
   * service.
   */
  readonly apiKeys: "own" | "all";
  readonly status?: RecordStatus | undefined;
  readonly mustBeResumable?: boolean;
  /** Whether to list parts of narrations, too. Their records have `is_listed = 0` until a call requests them. */
  readonly includesParts?: boolean;
  readonly limit: number;
}

const listedRowSchema = z.object({
  created_at_ms: z.number(),
  api_key_id: z.string(),
  record_id: z.string(),
});
const apiKeyRowSchema = z.object({ api_key_id: z.string() });
const baseUrlRowSchema = z.object({ base_url: z.string() });

const MAX_OTHER_BASE_URLS = 5;

/**
 * Searches the records of this API key, and those of other API keys that this machine has used. Returns the JSON of
 * records without parsing it.
 */
export class RecordSearch {
  readonly #engine: SqlEngine;
  readonly #scope: LedgerScope;

  constructor(engine: SqlEngine, scope: LedgerScope) {
    this.#engine = engine;
    this.#scope = scope;
  }

  /** Lists records, newest first. */
  async list(query: ListQuery): Promise<RecordJsonRow[]> {
    const { apiKeys, status, mustBeResumable = false, includesParts = false, limit } = query;
    const keyIds = apiKeys === "own" ? [this.#scope.apiKeyId] : await this.#findVisibleKeyIds();
    const statuses =
      status !== undefined
        ? [status]
        : RECORD_STATUSES.filter((known) => !mustBeResumable || isResumableStatus(known));
    const kinds = mustBeResumable
      ? ["is_resumable = 1"]
      : ["is_listed = 1", ...(includesParts ? ["is_listed = 0"] : [])];
    const statements = keyIds.flatMap((apiKeyId) =>
      statuses.flatMap((listedStatus) =>
        kinds.map((kind) =>
          sql(
            `SELECT api_key_id, record_id, created_at_ms, record_json FROM agm_records
               WHERE api_key_id = ? AND ${kind} AND status = ?
               ORDER BY created_at_ms DESC, record_id DESC LIMIT ?`,
            apiKeyId,
            listedStatus,
            limit,
          ),
        ),
      ),
    );
    if (statements.length === 0) return [];
    const foundRows = (await this.#engine.read(statements)).flat();
    return parseRecordJsonRows(sortNewestFirst(foundRows).slice(0, limit));
  }

  /** Finds every visible record that has the lookup key. This API key's records come first. */
  async findByLookupKey(lookupKey: string): Promise<RecordJsonRow[]> {
    const { apiKeyId, machineId } = this.#scope;
    const [rows = []] = await this.#engine.read([
      sql(
        `SELECT r.api_key_id, r.record_id, r.record_json FROM agm_lookup_keys k
         JOIN agm_records r ON r.api_key_id = k.api_key_id AND r.record_id = k.record_id
         WHERE k.lookup_key = ? AND ${buildVisibleCondition("k")}
         ORDER BY CASE WHEN k.api_key_id = ? THEN 0 ELSE 1 END, r.created_at_ms, r.record_id`,
        lookupKey,
        apiKeyId,
        machineId,
        apiKeyId,
      ),
    ]);
    return parseRecordJsonRows(rows);
  }

  /** Finds up to {@link MAX_OTHER_BASE_URLS} other services for which this machine has used API keys. */
  async findOtherBaseUrls(): Promise<string[]> {
    const { baseUrl, machineId } = this.#scope;
    const [rows = []] = await this.#engine.read([
      sql(
        `SELECT DISTINCT k.base_url FROM agm_api_keys k JOIN agm_machine_keys m ON m.api_key_id = k.api_key_id
         WHERE m.machine_id = ? AND k.base_url <> ? ORDER BY k.base_url LIMIT ${MAX_OTHER_BASE_URLS}`,
        machineId,
        baseUrl,
      ),
    ]);
    return baseUrlRowSchema
      .array()
      .parse(rows)
      .map((row) => row.base_url);
  }

  async #findVisibleKeyIds(): Promise<string[]> {
    const { baseUrl, machineId } = this.#scope;
    const [rows = []] = await this.#engine.read([
      sql(
        `SELECT k.api_key_id FROM agm_api_keys k JOIN agm_machine_keys m ON m.api_key_id = k.api_key_id
         WHERE m.machine_id = ? AND k.base_url = ?`,
        machineId,
        baseUrl,
      ),
    ]);
    return apiKeyRowSchema
      .array()
      .parse(rows)
      .map((row) => row.api_key_id);
  }
}

/**
 * Sorts rows newest first. Sorts rows of the same millisecond by record id, so that a repeated list has the same order.
 */
function sortNewestFirst(rows: Rows): Rows {
  return rows
    .flatMap((row) => {
      const parsed = listedRowSchema.safeParse(row);
      return parsed.success ? [{ row, ...parsed.data }] : [];
    })
    .sort((left, right) =>
      left.created_at_ms === right.created_at_ms
        ? left.record_id < right.record_id
          ? 1
          : -1
        : right.created_at_ms - left.created_at_ms,
    )
    .map(({ row }) => row);
}
